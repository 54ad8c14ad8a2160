// THE table of pair-distance histogram variants, in the order of the ladder, and the choice among them.
#include "pair_histogram/variants.hpp"

#include <array>

#include "core/checked.hpp"
#include "cuda/devices.hpp"
#include "pair_histogram/simd_pairs.hpp"

namespace gradus::pair_histogram_detail {

namespace {

using core::Backend;
using core::Contract;
using core::Support;

Support always(const Shape&, const cpu::Machine&) { return Support::yes(); }

std::uint64_t one_histogram(const Shape& shape, int) { return Histogram::bytes(shape); }

std::uint64_t histogram_per_thread(const Shape& shape, int threads) {
  return core::checked_multiply(Histogram::bytes(shape), static_cast<std::uint64_t>(threads) + 1, "histograms");
}

std::uint64_t plain_memory(const Shape& shape, int threads) { return bytes_to_count_in_double(shape, threads); }

// With the double columns, to which the filter turns where it does not help.
std::uint64_t filter_memory(const Shape& shape, int threads) {
  return std::max(bytes_to_count_in_double(shape, threads), bytes_to_filter(shape, threads));
}

std::uint64_t cells_memory(const Shape& shape, int threads) {
  return std::max(bytes_to_count_in_double(shape, threads),
                  bytes_to_filter(shape, threads) + bytes_to_sort_into_cells(shape, threads));
}

constexpr std::array table = {
    Variant{{"sequential", "the textbook's loop on one core", Backend::sequential, Contract::same_bits, 0},
            always,
            one_histogram,
            sequential<float>,
            sequential<double>},
    Variant{{"openmp_shared", "points among threads, one histogram, atomic additions", Backend::openmp,
             Contract::same_bits, 0},
            always,
            one_histogram,
            openmp_shared<float>,
            openmp_shared<double>},
    Variant{{"openmp_privatized", "points among threads, a private histogram for each, added up at the end",
             Backend::openmp, Contract::same_bits, 0},
            always,
            histogram_per_thread,
            openmp_privatized<float>,
            openmp_privatized<double>},
    Variant{{"simd_brute_force", "vectors of pairs in double, tiles of points, private copies of the counters",
             Backend::simd, Contract::same_bits, 0},
            always,
            plain_memory,
            simd_brute_force<float>,
            simd_brute_force<double>},
    Variant{{"simd_filter", "a float filter, doubtful pairs in double; several pairs share one increment",
             Backend::simd, Contract::same_bits, 0},
            always,
            filter_memory,
            simd_filter<float>,
            simd_filter<double>},
    Variant{{"simd_cells", "points sorted into columns of cells; the filter for what is within reach of a few points",
             Backend::simd, Contract::same_bits, 0},
            always,
            cells_memory,
            simd_cells<float>,
            simd_cells<double>},
};

}  // namespace

std::span<const Variant> variants() { return table; }

const Variant& choose(const Shape& /*shape*/, const cpu::Machine& machine, Device device) {
  if (device == Device::gpu) {
    const std::string reason = cuda::why_no_gpu(machine);
    throw UnsupportedError("pair_histogram has no GPU variant yet" + (reason.empty() ? "" : "; " + reason) +
                           "; use the CPU (--device cpu)");
  }
  return core::find_variant(variants(), "simd_filter", "pair_histogram");
}

}  // namespace gradus::pair_histogram_detail
