;; `agent` by Clojure's agents: src/agent/clojure.rs builds it.
;;
;; Its arguments are the form, n, m and how many threads the agents have. Each line on its input asks
;; for a run, which is answered by a line: nanoseconds, nanoseconds of processor time, and the answer.
;; The end of the input is the end of the program.
(ns agent
  (:import [java.lang.management ManagementFactory]
           [java.util.concurrent CountDownLatch ExecutorService Executors])
  (:gen-class))

(defn hand-on
  "The action of `relay`: sends on, inside of the action."
  [node value]
  (if-some [next (:next node)]
    (do (send next hand-on (inc value)) node)
    (do (.countDown ^CountDownLatch (:left node)) (update node :sum + value))))

(defn relay [_ n m]
  (let [left (CountDownLatch. n)
        last (agent {:sum 0 :left left})
        head (reduce (fn [next _] (agent {:next next})) last (range (dec m)))]
    (dotimes [i n] (send head hand-on i))
    (.await left)
    (await last)
    (:sum @last)))

(defn shared [^ExecutorService pool n m]
  (let [total (agent 0)
        left (CountDownLatch. n)
        send-all (fn [] (dotimes [i m] (send total + i)) (.countDown left))]
    (dotimes [_ n] (.execute pool send-all))
    (.await left)
    (await total)
    @total))

(defn processor-time []
  (.getProcessCpuTime ^com.sun.management.OperatingSystemMXBean (ManagementFactory/getOperatingSystemMXBean)))

(defn compiled
  "Runs for some seconds, in which the JVM's compiler does most of what it will do."
  [run]
  (let [begin (System/nanoTime)]
    (while (< (- (System/nanoTime) begin) 3000000000) (run))))

(defn -main [form & arguments]
  (let [[n m workers] (map parse-long arguments)
        pool (Executors/newFixedThreadPool workers)
        run #(({"relay" relay "shared" shared} form) pool n m)]
    (set-agent-send-executor! pool)
    (compiled run)
    (while (read-line)
      (let [used (processor-time)
            begin (System/nanoTime)
            answer (run)
            time (- (System/nanoTime) begin)]
        (println time (- (processor-time) used) answer)
        (flush)))
    (System/exit 0)))
