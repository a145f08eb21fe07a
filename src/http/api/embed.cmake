# cmake -D INPUT=FILE -D OUTPUT=FILE.cpp -P embed.cmake: writes the bytes of openapi.json as C++. An
# array, because the longest string literal that every compiler takes is shorter.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "// Made by the build from openapi.json.
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
