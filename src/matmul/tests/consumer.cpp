// Multiplies two small matrices, and checks the answer and an error, through nothing but the public header.
#include <gradus/matmul.hpp>

#include <cstdio>

int main() {
  const float a[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const float b[3][2] = {{1, 0}, {0, 1}, {2, -1}};
  const gradus::MatmulResult<float> result = gradus::matmul(a, b);
  if (result.product(0, 0) != 7 || result.product(0, 1) != -1 || result.product(1, 0) != 16 ||
      result.product(1, 1) != -1) {
    std::fprintf(stderr, "the product of two small matrices is wrong\n");
    return 1;
  }

  // An exception of the library is caught by its type across the border of a shared library.
  try {
    gradus::matmul(a, a);
  } catch (const gradus::UsageError&) {
    return 0;
  }
  std::fprintf(stderr, "matrices that do not fit each other were not refused\n");
  return 1;
}
