# Only tests that hang reach this: a busy machine may take five times as long as an idle one.
set(celld_python_timeout_s 600)
if(CELLD_SANITIZE)
  set(celld_python_timeout_s 1800)
endif()

# celld_python_tests(PREFIX [ALONE CLASS ...] [IN_TURN] [ENVIRONMENT NAME=VALUE ...]): makes a ctest
# of each method of each test_*.py beside the caller; the method's name is the test's sentence, and
# the file's name its label. The tests share the modules in tests/lib. ALONE: no other test runs at
# the same time as those of these classes. IN_TURN: none of the same prefix does; these begin early,
# so that they are not what the others end with.
function(celld_python_tests prefix)
  cmake_parse_arguments(ARG "IN_TURN" "" "ALONE;ENVIRONMENT" ${ARGN})
  file(GLOB modules CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${modules})
  set(environment CELLD_BINARY=$<TARGET_FILE:celld> CELLD_SANITIZE=${CELLD_SANITIZE}
    PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/lib PYTHONPYCACHEPREFIX=${CMAKE_BINARY_DIR}/pycache ${ARG_ENVIRONMENT})
  foreach(path ${modules})
    cmake_path(GET path STEM module)
    file(STRINGS ${path} lines REGEX "^class |^    def test_")
    foreach(line ${lines})
      if(line MATCHES "^class ([A-Za-z0-9]+)")
        set(class ${CMAKE_MATCH_1})
      elseif(line MATCHES "def test_([a-z0-9_]+)")
        set(method test_${CMAKE_MATCH_1})
        string(REPLACE "_" " " sentence ${CMAKE_MATCH_1})
        set(name "${prefix}: ${sentence}")
        add_test(NAME ${name}
          COMMAND run_python_test ${Python3_EXECUTABLE} ${module}.${class}.${method}
          WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        set_tests_properties(${name} PROPERTIES TIMEOUT ${celld_python_timeout_s}
          ENVIRONMENT "${environment}" LABELS ${module} SKIP_REGULAR_EXPRESSION "OK .skipped=[0-9]+.")
        if(class IN_LIST ARG_ALONE)
          set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
        elseif(ARG_IN_TURN)
          set_tests_properties(${name} PROPERTIES RESOURCE_LOCK ${prefix} COST 10)
        endif()
      endif()
    endforeach()
  endforeach()
endfunction()
