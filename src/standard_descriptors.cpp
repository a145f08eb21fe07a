#include "src/standard_descriptors.hpp"

#include <initializer_list>

#include <fcntl.h>

namespace celld {

void fill_standard_descriptors() {
  for (const int descriptor : {0, 1, 2}) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    if (::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

}  // namespace celld
