# pipec_add_library(NAME FILE.pipe... [TARGET cuda|host] [ARCH sm_80 ...] [OPTIONS ...])
#
# A static library NAME of compiled pipelines; who links it finds the headers (FILE.h). OPTIONS go to pipec. A change of a
# program, of what it imports or of pipec makes it anew. With TARGET cuda (the default) the code is compiled by CMake's
# CUDA language where the project has enabled it before, and otherwise by `pipec -c`, which finds nvcc itself.
function(pipec_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TARGET" "ARCH;OPTIONS")
  if(NOT ARG_TARGET)
    set(ARG_TARGET cuda)
  endif()
  if(NOT ARG_TARGET MATCHES "^(cuda|host)$")
    message(FATAL_ERROR "pipec_add_library(${name}): TARGET is cuda or host, not `${ARG_TARGET}`")
  endif()
  if(NOT ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pipec_add_library(${name}): no program is given")
  endif()

  # What pipec makes of each program: an object, or code for a compiler that CMake calls.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(step "")
  if(ARG_TARGET STREQUAL host)
    set(extension .cpp)
  elseif("CUDA" IN_LIST languages)
    set(extension .cu)
  else()
    set(extension .o)
    set(step -c)
    if(ARG_ARCH)
      list(JOIN ARG_ARCH "," architectures)
      list(APPEND step -arch=${architectures})
    endif()
  endif()

  set(directory ${CMAKE_CURRENT_BINARY_DIR}/${name}.pipelines)
  file(MAKE_DIRECTORY ${directory})
  set(results "")
  foreach(program IN LISTS ARG_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH program BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(GET program STEM stem)
    set(base ${directory}/${stem})
    add_custom_command(
      OUTPUT ${base}${extension} ${base}.h
      COMMAND pipec::pipec ${step} --target ${ARG_TARGET} ${ARG_OPTIONS} -MMD -MF ${base}.d ${program} -o ${base}${extension}
      DEPENDS ${program} pipec::pipec
      DEPFILE ${base}.d
      COMMENT "Compiling the pipelines of ${stem}.pipe for ${ARG_TARGET}"
      VERBATIM)
    list(APPEND results ${base}${extension} ${base}.h)
  endforeach()

  add_library(${name} STATIC ${results})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${directory}>)
  if(ARG_TARGET STREQUAL host)
    # Results do not depend on these flags: no contraction to fused multiply-add, and nobody reads errno.
    target_compile_features(${name} PRIVATE cxx_std_17)
    target_compile_options(${name} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
    find_package(OpenMP COMPONENTS CXX GLOBAL)
    if(OpenMP_CXX_FOUND)
      target_link_libraries(${name} PRIVATE OpenMP::OpenMP_CXX)
    endif()
    return()
  endif()
  find_package(CUDAToolkit REQUIRED GLOBAL)
  target_link_libraries(${name} PUBLIC CUDA::cudart)
  if(extension STREQUAL .cu)
    target_compile_features(${name} PRIVATE cuda_std_17)
    target_compile_options(${name} PRIVATE --fmad=false)
    if(ARG_ARCH)
      list(TRANSFORM ARG_ARCH REPLACE "^(sm|compute)_" "")
      set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${ARG_ARCH}")
    endif()
  endif()
endfunction()
