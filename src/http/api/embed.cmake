# cmake -D INPUT=FILE -D OUTPUT=FILE.cpp -P embed.cmake: writes openapi.json as a C++ byte
# array. Compilers need not accept a string literal of that length.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "// Generated from openapi.json by the build.
#include \"src/http/api/openapi.hpp\"

namespace celld::api {
namespace {

constexpr unsigned char bytes[] = {
${bytes}
};

}  // namespace

std::string_view openapi_json() {
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

}  // namespace celld::api
")
