// Small OpenMP programs that test the thread sanitizer. Some are correct and some have a data race. The sanitizer must
// understand the synchronisation of OpenMP, and it must report real races.
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int threads = 4;
constexpr int count = 4096;

long reduction() {
  long sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
  for (int index = 0; index < count; ++index) sum += index;
  return sum;
}

// Each thread reads values that other threads wrote. The barrier at the end of the first loop prevents a race.
long barrier() {
  std::vector<long> values(count);
  long sum = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for
    for (int index = 0; index < count; ++index) values[index] = index;
#pragma omp for reduction(+ : sum)
    for (int index = 0; index < count; ++index) sum += values[count - 1 - index];
  }
  return sum;
}

long critical() {
  long sum = 0;
#pragma omp parallel for num_threads(threads)
  for (int index = 0; index < count; ++index) {
#pragma omp critical
    sum += index;
  }
  return sum;
}

long tasks() {
  long low = 0;
  long high = 0;
  long sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
#pragma omp task depend(out : low) shared(low)
    for (int index = 0; index < count / 2; ++index) low += index;
#pragma omp task depend(out : high) shared(high)
    for (int index = count / 2; index < count; ++index) high += index;
#pragma omp task depend(in : low, high) shared(low, high, sum)
    sum = low + high;
  }
  return sum;
}

long racy_sum() {
  long sum = 0;
#pragma omp parallel for num_threads(threads)
  for (int index = 0; index < count; ++index) sum += index;
  return sum;
}

long missing_barrier() {
  std::vector<long> values(count);
  long sum = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for nowait
    for (int index = 0; index < count; ++index) values[index] = index;
#pragma omp for reduction(+ : sum)
    for (int index = 0; index < count; ++index) sum += values[count - 1 - index];
  }
  return sum;
}

struct Control {
  const char* name;
  long (*run)();
};
constexpr Control controls[] = {{"reduction", reduction}, {"barrier", barrier},   {"critical", critical},
                                {"tasks", tasks},         {"racy_sum", racy_sum}, {"missing_barrier", missing_barrier}};

}  // namespace

int main(int argument_count, char** arguments) {
  for (const Control& control : controls) {
    if (argument_count != 2 || std::strcmp(arguments[1], control.name) != 0) continue;
    const long sum = control.run();
    std::printf("%s: %ld\n", control.name, sum);
    return sum == static_cast<long>(count) * (count - 1) / 2 ? 0 : 1;
  }
  std::fprintf(stderr, "usage: openmp_control NAME\n");
  return 2;
}
