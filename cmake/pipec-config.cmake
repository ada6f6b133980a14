# find_package(pipec): the compiler as pipec::pipec, and pipec_add_library(). See docs/building.md.
include(${CMAKE_CURRENT_LIST_DIR}/pipec-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/pipec-library.cmake)
