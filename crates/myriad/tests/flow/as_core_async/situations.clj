;; The situations of outcomes.txt on core.async, a line for each: its number and what has come out.
;; scripts/core-async.sh runs it and compares.
(require '[clojure.core.async :as a :refer [<!! >!! alts!! chan close! poll! put! take! timeout]])

(defn got-within
  "What comes from `c`, if it does within so many milliseconds."
  [c ms]
  (let [[x from] (alts!! [c (timeout ms)])] (if (= from c) x :timeout)))
(defn got [c] (got-within c 3000))
(defn put [c x] (let [done (promise)] (put! c x #(deliver done %)) done))
(defn is [done] (deref done 3000 :timeout))
(defn all [c] (is (let [done (promise)] (take! (a/into [] c) #(deliver done %)) done)))
(defn of [& xs] (a/to-chan! xs))

(def situations
  {1 (fn [] (let [c (chan 1)]
              (>!! c 1)
              (let [waits (put c 2)]
                (close! c)
                [(got c) (got c) (is waits) (is (put c 3)) (got c)])))
   2 (fn [] (let [c (chan 1 (mapcat range)) done (put c 5)]
              (into [(realized? done)] (repeatedly 5 #(got c)))))
   3 (fn [] (let [c (chan 10 (take 2))]
              [(is (put c 1)) (is (put c 2)) (is (put c 3)) (got c) (got c) (got c)]))
   4 (fn [] (let [c (chan 3 (map #(quot 10 %)) (fn [_] -1)) d (chan 3 (map #(quot 10 %)) (fn [_] nil))]
              (doseq [x [5 0]] (>!! c x) (>!! d x))
              (close! d)
              [(got c) (got c) (got d) (got d)]))
   5 (fn [] (let [c (chan 3 (partition-all 3))]
              (doseq [x [1 2]] (>!! c x))
              (close! c)
              [(got c) (got c)]))
   6 (fn [] (let [c (chan) all (a/mult c) x (chan 10) y (chan)]
              (a/tap all x)
              (a/tap all y)
              (doseq [n (range 3)] (put c n))
              [(got x) (got-within x 100) (got y) (got x)]))
   7 (fn [] (let [c (chan) all (a/mult c)]
              (vec (repeatedly 3 #(is (put c 1))))))
   8 (fn [] (let [c (chan) m (a/mult c) x (chan 10) y (chan 10)]
              (doseq [tap [x x y]] (a/tap m tap))
              (is (put c 0))
              (got y)
              (close! y)
              (doseq [n [1 2]] (is (put c n)))
              (close! c)
              (all x)))
   9 (fn [] (let [c (chan) m (a/mult c) x (chan) late (chan)]
              (a/tap m x)
              (close! c)
              [(got x) (do (a/tap m late) (got-within late 300))]))
   10 (fn [] (let [c (chan) m (a/mult c) x (chan 10) y (chan)]
               (a/tap m x)
               (a/tap m y)
               (put c 0)
               (let [before (got x)]
                 (a/untap m y)
                 (put c 1)
                 [before (got-within x 100)])))
   11 (fn [] (let [ways (fn [p c slow fast]
                          (a/sub p true slow)
                          (a/sub p false fast)
                          (doseq [n [0 2 1]] (put c n))
                          (got-within fast 200))
                   c (chan) d (chan) e (chan)]
               (a/pub e even?)
               [(ways (a/pub c even?) c (chan) (chan 10))
                (ways (a/pub d even? (fn [_] 2)) d (chan) (chan 10))
                (is (put e 1))]))
   12 (fn [] (let [out (chan 10) m (a/mix out) [x y z] (repeatedly chan)]
               (a/toggle m {x {:mute true} y {:pause true} z {}})
               (Thread/sleep 100)
               [(is (put x 1)) (deref (put y 2) 100 :timeout) (is (put z 3)) (got out)
                (do (a/toggle m {z {:solo true} y {:pause false}})
                    (Thread/sleep 100)
                    (got-within out 100))]))
   13 (fn [] (let [out (chan)]
               (a/pipeline-blocking 2 out (map #(do (when (= % 0) (Thread/sleep 100)) %)) (of 0 1 2 3))
               (all out)))
   14 (fn [] (let [out (chan) other (chan)]
               (a/pipeline 2 out (map #(quot 6 %)) (of 1 0 2) true (fn [_] nil))
               (a/pipeline 2 other (map #(quot 6 %)) (of 1 0 2) true (fn [_] -1))
               [(all out) (all other)]))
   15 (fn [] (let [out (chan)]
               (a/pipeline 2 out (partition-all 2) (of 1 2 3 4))
               (all out)))
   16 (fn [] (let [from (chan 100) to (chan)]
               (doseq [n (range 100)] (>!! from n))
               (close! to)
               (a/pipeline 2 to (map inc) from)
               (Thread/sleep 300)
               [(some? (poll! from))]))
   17 (fn [] (let [out (chan 10)]
               (a/pipeline-async 2 out (fn [x answer] (when (= x 2) (put! answer x) (close! answer))) (of 1 2))
               (vec (repeatedly 2 #(got-within out 100)))))
   18 (fn [] (let [c (chan)]
               (dotimes [_ 1024] (take! c identity))
               [(try (take! c identity) true (catch AssertionError _ false))]))
   ;; (In the same millisecond.)
   19 (fn [] [(boolean (some (fn [_] (identical? (timeout 1000) (timeout 1000))) (range 100)))])
   20 (fn [] (let [x (chan 1) y (chan 1)]
               (>!! y 5)
               (alts!! [[x 1] y] :priority true)
               [(poll! x) (poll! y)]))
   21 (fn [] (let [[even odd] (a/split even? (of 1 2 3 4) 4 4)]
               [(vec (sort (all (a/merge [(of 1 2) (of 3 4)])))) (got (a/reduce + 0 (of 1 2 3 4))) (all even) (all odd)]))})

;; (The failures on purpose are reported there, too.)
(Thread/setDefaultUncaughtExceptionHandler
 (reify Thread$UncaughtExceptionHandler (uncaughtException [_ _ _] nil)))
(doseq [n (sort (keys situations))]
  (println n (pr-str ((situations n))))
  (flush))
(System/exit 0)
