// `graph` by oneTBB (-DMYRIAD_TBB) or Taskflow (-DMYRIAD_TASKFLOW), and `dataflow` by Taskflow's
// dependent tasks (-DMYRIAD_DEPENDENT): src/graph/outside.rs builds it.
//
// Its argument is how many workers there are. On its input comes the graph, as 32-bit numbers: how
// many nodes, and 1 if their bodies compute; then for each node how many it comes after, and which.
// Then each line asks for a run. A run is answered by a line: nanoseconds, nanoseconds of processor
// time, and the value of the last node. The end of the input is the end of the program.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#ifdef MYRIAD_TBB
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#endif
#if defined MYRIAD_TASKFLOW || defined MYRIAD_DEPENDENT
#include <taskflow/taskflow.hpp>
#endif

static uint32_t number() {
    uint32_t read;
    if (std::fread(&read, sizeof read, 1, stdin) != 1) std::exit(1);
    return read;
}

// About half a microsecond, as `compute` of src/graph/mod.rs.
__attribute__((noinline)) static uint64_t compute(uint64_t seed) {
    double x = double(seed >> 40);
    for (int i = 0; i < 325; i++) x = x * 1.0000001 + 1e-9;
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

// The nodes, and the value of each, which a run leaves: as `Work` of src/graph/mod.rs.
struct Work {
    uint32_t nodes = number();
    bool computes = number() != 0;
    std::vector<size_t> ends;
    std::vector<uint32_t> before;
    std::vector<std::atomic<uint64_t>> values;

    Work() : values(nodes) {
        ends.push_back(0);
        for (uint32_t node = 0; node < nodes; node++) {
            for (uint32_t left = number(); left > 0; left--) before.push_back(number());
            ends.push_back(before.size());
        }
    }

    void body(uint32_t node) {
        uint64_t value = 1;
        for (size_t at = ends[node]; at < ends[node + 1]; at++)
            value = value * 31 + values[before[at]].load(std::memory_order_relaxed);
        if (computes) value += compute(value) & 1;
        values[node].store(value, std::memory_order_relaxed);
    }
};

#ifdef MYRIAD_TBB
class Graph {
    using Message = tbb::flow::continue_msg;
    using Node = tbb::flow::continue_node<Message>;

    // (Counts the thread that waits, which works too.)
    tbb::global_control workers;
    tbb::flow::graph graph;
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<Node *> first;

public:
    Graph(Work &work, size_t count) : workers(tbb::global_control::max_allowed_parallelism, count) {
        for (uint32_t node = 0; node < work.nodes; node++) {
            nodes.emplace_back(new Node(graph, [&work, node](const Message &) { work.body(node); }));
            size_t begin = work.ends[node], end = work.ends[node + 1];
            if (begin == end) first.push_back(nodes[node].get());
            for (size_t at = begin; at < end; at++) tbb::flow::make_edge(*nodes[work.before[at]], *nodes[node]);
        }
    }

    void run() {
        for (Node *node : first) node->try_put(Message());
        graph.wait_for_all();
    }
};
#endif

#ifdef MYRIAD_TASKFLOW
class Graph {
    tf::Executor executor;
    tf::Taskflow graph;

public:
    Graph(Work &work, size_t count) : executor(count) {
        std::vector<tf::Task> nodes;
        for (uint32_t node = 0; node < work.nodes; node++) {
            nodes.push_back(graph.emplace([&work, node] { work.body(node); }));
            for (size_t at = work.ends[node]; at < work.ends[node + 1]; at++)
                nodes[work.before[at]].precede(nodes[node]);
        }
    }

    void run() { executor.run(graph).wait(); }
};
#endif

#ifdef MYRIAD_DEPENDENT
class Graph {
    Work &work;
    tf::Executor executor;

public:
    Graph(Work &work, size_t count) : work(work), executor(count) {}

    void run() {
        std::vector<tf::AsyncTask> nodes(work.nodes);
        std::vector<tf::AsyncTask> before;
        for (uint32_t node = 0; node < work.nodes; node++) {
            before.clear();
            for (size_t at = work.ends[node]; at < work.ends[node + 1]; at++) before.push_back(nodes[work.before[at]]);
            auto body = [this, node] { work.body(node); };
            nodes[node] = executor.silent_dependent_async(body, before.begin(), before.end());
        }
        executor.wait_for_all();
    }
};
#endif

static long long processor_time() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int, char **arguments) {
    Work work;
    Graph graph(work, std::strtoul(arguments[1], nullptr, 10));
    char line[16];
    while (std::fgets(line, sizeof line, stdin)) {
        using Clock = std::chrono::steady_clock;
        long long used = processor_time();
        auto begin = Clock::now();
        graph.run();
        long long time = std::chrono::nanoseconds(Clock::now() - begin).count();
        used = processor_time() - used;
        unsigned long long last = work.values.back().exchange(0, std::memory_order_relaxed);
        std::printf("%lld %lld %llu\n", time, used, last);
        std::fflush(stdout);
    }
    std::_Exit(0); // Nobody waits for the end of a million nodes.
}
