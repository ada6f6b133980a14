# simt_library(<target> <file.cu>) compiles a .cu, as it is, into a shared object that runs in the SIMT emulator.
# Programs that link it link `simt` too, for the test's side of it (simt.h) and the CUDA runtime.
#
# The flags instrument every access to memory. They are no options of a target, and the object is linked by hand,
# because the sanitizers' own libraries must stay away: the emulator takes their place. Without optimisation accesses
# are instrumented as they are written, and what runs a few times compiles in less than half the time; a copy is a call.
set(SIMT_DIR ${CMAKE_CURRENT_LIST_DIR})
set(SIMT_FLAGS -x c++ -std=c++17 -O0 -g1 -fPIC -ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas
    -fsanitize=thread --param tsan-instrument-func-entry-exit=0
    -fsanitize=bounds,alignment,shift,signed-integer-overflow,integer-divide-by-zero,float-cast-overflow
    -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset
    -I ${SIMT_DIR}/include)
# Calls of these are accesses, too.
set(SIMT_LINK_FLAGS -Wl,--wrap=memcpy -Wl,--wrap=memmove -Wl,--wrap=memset -Wl,-z,defs -Wl,--no-as-needed)
# One command, for tests that compile at run time: SIMT_COMPILE x.cu -o x.o; SIMT_LINK x.o -o x.so
string(JOIN " " SIMT_COMPILE ${CMAKE_CXX_COMPILER} ${SIMT_FLAGS} -c)
string(JOIN " " SIMT_LINK ${CMAKE_CXX_COMPILER} -shared ${SIMT_LINK_FLAGS} ${PROJECT_BINARY_DIR}/tests/simt/libsimt.so
       -Wl,-rpath,${PROJECT_BINARY_DIR}/tests/simt)
# The same with the headers precompiled, which saves a quarter of the time of a small program. Tests that use SIMT_COMPILE,
# and nvcc, notice when code lacks a header; this does not. Who uses it depends on the target simt_prelude.
set(SIMT_PRELUDE ${PROJECT_BINARY_DIR}/tests/simt/prelude/prelude.h)
string(REPLACE " -c" " -include ${SIMT_PRELUDE} -c" SIMT_COMPILE_PRELUDE "${SIMT_COMPILE}")

function(simt_library target source)
  get_filename_component(source ${source} ABSOLUTE)
  set(warnings)
  if(PIPEC_WERROR)
    set(warnings -Werror)
  endif()
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}.cu.o)
  set(library ${CMAKE_CURRENT_BINARY_DIR}/lib${target}.so)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${CMAKE_CXX_COMPILER} ${SIMT_FLAGS} ${warnings}
            -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source} DEPFILE ${object}.d VERBATIM COMMENT "SIMT ${source}")
  add_custom_command(OUTPUT ${library}
    COMMAND ${CMAKE_CXX_COMPILER} -shared ${SIMT_LINK_FLAGS} ${object} -o ${library} $<TARGET_FILE:simt>
            -Wl,-rpath,$<TARGET_FILE_DIR:simt>
    DEPENDS ${object} simt VERBATIM)
  add_custom_target(${target}_library DEPENDS ${library})
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${library} IMPORTED_NO_SONAME TRUE)
  target_link_libraries(${target} INTERFACE simt)
  add_dependencies(${target} ${target}_library)
endfunction()
