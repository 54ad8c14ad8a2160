// Multiplies two small matrices and checks the answer and an error, using only the public header.
#include <gradus/matmul.hpp>

#include <cstdio>

int main() {
  const float a[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const float b[3][2] = {{1, 0}, {0, 1}, {2, -1}};
  const gradus::MatmulResult<float> result = gradus::matmul(a, b);
  if (result.product(0, 0) != 7 || result.product(0, 1) != -1 || result.product(1, 0) != 16 ||
      result.product(1, 1) != -1) {
    std::fprintf(stderr, "the product of two small matrices is incorrect\n");
    return 1;
  }

  // Catches an exception of the library by its type across a shared-library boundary.
  try {
    gradus::matmul(a, a);
  } catch (const gradus::UsageError&) {
    return 0;
  }
  std::fprintf(stderr, "matrices that do not fit each other were not refused\n");
  return 1;
}
