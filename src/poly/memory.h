// Memory that is missing in isl and in the library of its numbers.
#pragma once

namespace isl {
class exception;
}

namespace pipec::poly {

/// Throws std::bad_alloc for a failure to allocate. isl tells it like a question that is too hard; but it is not about
/// the program, and what would be concluded from it would not be the same each time.
void rethrow_exhaustion(const isl::exception& failure);

/// GMP, which has isl's numbers, aborts where it finds no memory. From now on it calls `handler`, which must not
/// return: isl's functions, which call GMP, cannot be left by exceptions.
void on_exhausted_numbers(void (*handler)());

}  // namespace pipec::poly
