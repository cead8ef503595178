// The interface from C++: lambdas, owners, exceptions that stay inside. Arguments: threads or fibers; and where one does not: see throws_in.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

namespace {

// Runs anything that can be called as a task, and joins it in the destructor.
class Task {
public:
    template <class F>
    explicit Task(F f) {
        auto *call = new F(std::move(f));
        OK(myriad_spawn([](void *call) -> void * {
            std::unique_ptr<F> f(static_cast<F *>(call));
            (*f)();
            return nullptr;
        }, call, &task_));
    }
    Task(Task &&other) noexcept : task_(other.task_) { other.task_ = nullptr; }
    ~Task() {
        if (task_) OK(myriad_join(task_, nullptr));
    }

private:
    myriad_task *task_ = nullptr;
};

// A channel of owners: a pointer goes through, and is an owner again.
void owners() {
    myriad_channel *channel;
    OK(myriad_channel_new(sizeof(std::string *), 4, &channel));
    std::string all;
    {
        Task reader([&] {
            std::string *word;
            while (myriad_recv(channel, &word) == MYRIAD_OK) all += *std::unique_ptr<std::string>(word);
        });
        Task writer([&] {
            for (int i = 0; i < 100; i++) {
                auto *word = new std::string(std::to_string(i) + ",");
                OK(myriad_send(channel, &word));
            }
            OK(myriad_channel_close(channel));
        });
    }
    CHECK(all.size() == 290 && all.rfind("99,") == 287);
    myriad_channel_free(channel);
}

// Exceptions are thrown and caught inside of tasks, with waits before and after.
void exceptions() {
    std::atomic<int> caught{0};
    std::vector<Task> tasks;
    for (int i = 0; i < 50; i++) {
        tasks.emplace_back([&caught, i] {
            std::string text;
            try {
                OK(myriad_yield());
                throw std::runtime_error(std::to_string(i));
            } catch (const std::runtime_error &error) {
                text = error.what();
            }
            OK(myriad_yield());
            CHECK(text == std::to_string(i));
            caught++;
        });
    }
    tasks.clear();
    CHECK(caught == 50);
}

void loops() {
    std::vector<double> numbers(100000);
    OK(myriad_parallel_for(0, numbers.size(), 0, [](size_t begin, size_t end, void *argument) {
        auto &numbers = *static_cast<std::vector<double> *>(argument);
        for (size_t i = begin; i < end; i++) numbers[i] = 0.5 * static_cast<double>(i);
    }, &numbers));
    CHECK(std::accumulate(numbers.begin(), numbers.end(), 0.0) == 0.25 * 100000.0 * 99999.0);
}

// An exception that leaves a function that the library has called: from this thread, and from a task.
void throws_in(const std::string &place) {
    myriad_function function = [](void *) -> void * { throw std::runtime_error("leaves its function"); };
    myriad_body body = [](size_t, size_t, void *) { throw std::runtime_error("leaves its body"); };
    myriad_job job = [](size_t index, void *) { if (index == 1) throw std::runtime_error("leaves its job"); };
    static const std::map<std::string, std::function<void()>> places{
        {"task", [=] { Task([] { throw std::runtime_error("leaves its task"); }); }},
        {"run", [=] { myriad_run(function, nullptr, nullptr); }},
        {"blocking", [=] { myriad_blocking(function, nullptr, nullptr); }},
        {"keep_thread", [=] { myriad_keep_thread(function, nullptr, nullptr); }},
        {"shield", [=] { myriad_shield(function, nullptr, nullptr); }},
        {"loop", [=] { myriad_parallel_for(0, 10, 1, body, nullptr); }},
        {"gang", [=] { myriad_gang(2, job, nullptr); }},
    };
    const bool in_a_task = place.compare(0, 2, "t:") == 0;
    const auto &call = places.at(in_a_task ? place.substr(2) : place);
    if (!in_a_task) return call();
    // (Joined by hand: what leaves the function leaves the task, too, and is not to meet a destructor that joins.)
    myriad_task *task;
    OK(myriad_spawn([](void *call) -> void * {
        (*static_cast<const std::function<void()> *>(call))();
        return nullptr;
    }, const_cast<std::function<void()> *>(&call), &task));
    myriad_join(task, nullptr);
}

}  // namespace

int main(int argc, char **argv) {
    CHECK(argc >= 2);
    start(argv[1], 2);
    if (argc == 3) {
        throws_in(argv[2]);
        return 3;
    }
    owners();
    exceptions();
    loops();
    OK(myriad_stop(20 * SECOND));
    std::puts("all is well");
}
