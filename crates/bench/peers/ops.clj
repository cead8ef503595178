;; `ops` by core.async: src/ops/core_async.rs builds it.
;;
;; Its arguments are the form and how many items there are. Each line on its input asks for a run,
;; which is answered by a line: nanoseconds, nanoseconds of processor time, and what the readers
;; have summed up. The end of the input is the end of the program.
(ns ops
  (:require [clojure.core.async :as async :refer [<! <!! chan go-loop]])
  (:import [java.lang.management ManagementFactory])
  (:gen-class))

(def slots 64)
(def taps 4)
(def tasks 8)
(def topics 1000)
(def inputs 4)

(defn reader
  "A channel, and another on which comes the sum of what has come out of it."
  []
  (let [in (chan slots)]
    [in (go-loop [sum 0]
          (if-some [x (<! in)] (recur (+ sum x)) sum))]))

(defn source
  "Sends these numbers and closes."
  [n to]
  (async/onto-chan! to (range n))
  to)

(defn total
  "The sum of all readers' sums."
  [sums]
  (reduce + (map <!! sums)))

(defn mult [n]
  (let [in (chan slots)
        all (async/mult in)
        readers (vec (repeatedly taps reader))]
    (doseq [[to _] readers] (async/tap all to))
    (source n in)
    (total (map second readers))))

(defn pipeline [n]
  (let [[to sum] (reader)]
    (async/pipeline tasks to (map inc) (source n (chan slots)))
    (total [sum])))

(defn publish [n]
  (let [in (chan slots)
        all (async/pub in #(mod % topics))
        readers (vec (repeatedly topics reader))]
    (doseq [[topic [to _]] (map-indexed vector readers)] (async/sub all topic to))
    (source n in)
    (total (map second readers))))

(defn mix
  "Its output is never closed: the reader counts."
  [n]
  (let [out (chan slots)
        all (async/mix out)
        sum (go-loop [left n, sum 0]
              (if (pos? left) (recur (dec left) (+ sum (<! out))) sum))]
    (dotimes [input inputs]
      (let [in (chan slots)]
        (async/admix all in)
        (async/onto-chan! in (range input n inputs))))
    (<!! sum)))

(defn processor-time []
  (.getProcessCpuTime ^com.sun.management.OperatingSystemMXBean (ManagementFactory/getOperatingSystemMXBean)))

(defn -main [form n]
  (let [run ({"mult" mult "pipeline" pipeline "publish" publish "mix" mix} form)
        n (parse-long n)]
    (while (read-line)
      (let [used (processor-time)
            begin (System/nanoTime)
            sum (run n)
            time (- (System/nanoTime) begin)]
        (println time (- (processor-time) used) sum)
        (flush)))
    (System/exit 0)))
