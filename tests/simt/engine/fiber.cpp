#include "engine/fiber.h"

#include <sys/mman.h>

#include <new>

namespace simt {
namespace {

constexpr std::size_t guard = 4096;  // below the stack: an overflow ends the program instead of changing a neighbour

}  // namespace

Fiber::Fiber(void (*main)(Fiber&)) : main_(main) {
    void* memory = mmap(nullptr, guard + stack_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<std::byte*>(memory) + guard;
    if (mprotect(stack_, stack_size, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    reset();
}

Fiber::~Fiber() {
    munmap(stack_ - guard, guard + stack_size);
}

void Fiber::reset() {
    inside_ = boost::context::detail::make_fcontext(stack_ + stack_size, stack_size, &Fiber::start);
}

void Fiber::start(boost::context::detail::transfer_t from) {
    auto& self = *static_cast<Fiber*>(from.data);
    self.outside_ = from.fctx;
    self.main_(self);
}

void Fiber::enter() {
    inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
}

void Fiber::leave() {
    outside_ = boost::context::detail::jump_fcontext(outside_, this).fctx;
}

}  // namespace simt
