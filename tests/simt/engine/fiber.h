// Fibers: stacks that can be left in the middle and entered again, all on one thread.
//
// Boost.Context's two primitives are used as they are. Its class `fiber` unwinds a stack by an exception when it is
// destroyed; here the lanes of a block that has failed are simply dropped.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace simt {

class Fiber {
public:
    static constexpr std::size_t stack_size = 256 * 1024;

    explicit Fiber(void (*main)(Fiber&));
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Runs until it calls leave(). At first it calls `main`, which must never return.
    void enter();
    /// From inside: back to whoever called enter().
    void leave();
    /// Forgets where it was; the next enter() calls `main` again.
    void reset();
    [[nodiscard]] const std::byte* stack() const { return stack_; }

private:
    static void start(boost::context::detail::transfer_t from);

    void (*main_)(Fiber&);
    std::byte* stack_;
    boost::context::detail::fcontext_t inside_ = nullptr, outside_ = nullptr;
};

}  // namespace simt
