// std::thread cannot choose its stack's size, so this is POSIX threads.
#include "support/big_stack.h"

#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <system_error>

namespace pipec {

namespace {

struct Task {
    const std::function<void()>& f;
    std::exception_ptr thrown;
};

void check(int error, const char* what) {
    if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

void* run_task(void* argument) {
    auto& task = *static_cast<Task*>(argument);
    try {
        task.f();
    } catch (...) {
        task.thrown = std::current_exception();
    }
    return nullptr;
}

}  // namespace

void run_on_big_stack(std::size_t bytes, const std::function<void()>& f) {
    Task task{f, nullptr};
    pthread_attr_t attributes;
    check(pthread_attr_init(&attributes), "pthread_attr_init");
    pthread_t thread;
    int error = pthread_attr_setstacksize(&attributes, bytes);
    if (error == 0) error = pthread_create(&thread, &attributes, run_task, &task);
    pthread_attr_destroy(&attributes);
    if (error == EAGAIN) throw std::bad_alloc();  // what a stack without memory gives
    check(error, "a thread with a large stack");
    check(pthread_join(thread, nullptr), "pthread_join");
    if (task.thrown) std::rethrow_exception(task.thrown);
}

std::size_t stack_used_since(const void* base) {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const auto there = reinterpret_cast<std::uintptr_t>(base);
    return there > here ? there - here : here - there;
}

}  // namespace pipec
