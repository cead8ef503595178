;; The situations of outcomes.txt on Clojure's agents, a line for each: its name and what has come out.
;; scripts/clojure-agents.sh runs it and compares.

(defmacro outcome
  "The value, or :error."
  [& body]
  `(try ~@body (catch Throwable _# :error)))

(defn fails [& _] (throw (Exception. "an action")))

(defn until [condition] (while (not (condition)) (Thread/yield)))

(defn failed
  "An agent that has failed, with so many actions behind the failure."
  [value queued]
  (let [g (agent value) go (promise)]
    (send-off g (fn [x] @go x))
    (send g fails)
    (dotimes [_ queued] (send g inc))
    (deliver go true)
    (until #(agent-error g))
    g))

(defn settled
  "What an agent has when all that was sent is done, or it has failed."
  [g]
  (outcome (await-for 5000 g))
  @g)

(def ^:dynamic *who* :nobody)

(def situations
  [["failed" (fn [] (let [g (failed 1 2)]
                      [(outcome (send g inc)) @g (.getQueueCount ^clojure.lang.Agent g)]))]
   ["restart" (fn [] (let [runs (failed 0 1) drops (failed 0 1) told (atom 0)]
                       (add-watch runs :told (fn [_ _ old new] (when (not= old new) (swap! told inc))))
                       (restart-agent runs 10)
                       (restart-agent drops 10 :clear-actions true)
                       [(settled runs) @told (settled drops) (outcome (restart-agent runs 0))]))]
   ["await-failed" (fn [] (let [g (failed 0 0) h (agent 0) go (promise)]
                            (send-off h (fn [x] @go x))
                            (send h fails)
                            (let [waits (future (outcome (await h) :ok))]
                              (until #(= 3 (.getQueueCount ^clojure.lang.Agent h)))
                              (deliver go true)
                              (until #(agent-error h))
                              [(outcome (await g) :ok) (deref waits 500 :hangs)])))]
   ["await-inside" (fn [] (let [g (agent []) other (agent 0)]
                            (send g (fn [_] [(outcome (await g) :ok) (outcome (await other) :ok)]))
                            (settled g)))]
   ["held" (fn [] (let [g (agent 0) other (agent 0)]
                    (send g (fn [_] (send other inc) (send other #(* 10 %)) (Thread/sleep 20) @other))
                    [(settled g) (settled other)]))]
   ["dropped" (fn [] (let [g (agent 0) other (agent 0)]
                       (send g (fn [_] (send other inc) (fails)))
                       (settled g)
                       [(settled other)]))]
   ["released" (fn [] (let [g (agent 0) other (agent 0) released (promise)]
                        (send g (fn [_]
                                  (send other inc)
                                  (send other inc)
                                  (deliver released (release-pending-sends))
                                  (fails)))
                        (settled g)
                        [@released (settled other)]))]
   ["await-reach" (fn [] (let [g (agent 0) go (promise)]
                           (send-off g (fn [_]
                                         (send-off *agent* (fn [_] @go 2))
                                         (until #(> (.getQueueCount ^clojure.lang.Agent g) 1))
                                         1))
                           (await g)
                           (let [seen @g] (deliver go true) [seen (settled g)])))]
   ["validator" (fn [] (let [g (agent 1 :validator pos?)]
                         (send g (fn [_] -1))
                         [(settled g) (some? (agent-error g)) (outcome (agent -1 :validator pos?))]))]
   ["continue" (fn [] (let [seen (promise)
                            g (agent 1 :error-mode :continue :error-handler (fn [g _] (deliver seen @g)))
                            h (agent 1 :error-mode :continue :error-handler fails)]
                        (doseq [g [g h]] (send g fails) (send g inc))
                        [@seen (settled g) (settled h) (some? (agent-error h))]))]
   ["default-mode" (fn [] (let [g (agent 1 :error-handler (fn [& _]))]
                            (send g fails)
                            (settled g)
                            [(some? (agent-error g))]))]
   ["watch-fails" (fn [] (let [g (agent 1)]
                           (add-watch g :fails fails)
                           (send g inc)
                           [(settled g) (some? (agent-error g))]))]
   ["watch-order" (fn [] (let [g (agent 1) other (agent 0) seen (promise)]
                           (add-watch g :seen (fn [_ _ old new] (deliver seen [old new @other])))
                           (send g (fn [x] (send other inc) (inc x)))
                           (settled g)
                           @seen))]
   ["send-order" (fn [] (let [g (agent [])]
                          (doseq [n (range 6)] ((if (even? n) send send-off) g conj n))
                          (settled g)))]
   ["bindings" (fn [] (let [g (agent nil)]
                        (binding [*who* :sender] (send g (fn [_] *who*)))
                        [(settled g)]))]])

(defn word [x] (if (keyword? x) (name x) (pr-str x)))

(doseq [[name situation] situations]
  (println (str name ": " (apply str (interpose " " (map word (situation)))))))
(shutdown-agents)
(System/exit 0)
