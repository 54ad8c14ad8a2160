// THE table of pair-distance histogram variants, in the order of the ladder, and the choice among them.
#include "pair_histogram/variants.hpp"

#include <array>

#include "core/checked.hpp"
#include "cuda/devices.hpp"

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
};

}  // namespace

std::span<const Variant> variants() { return table; }

const Variant& choose(const Shape& /*shape*/, const cpu::Machine& machine, Device device) {
  if (device == Device::gpu) {
    const std::string reason = cuda::why_no_gpu(machine);
    throw UnsupportedError("pair_histogram has no GPU variant yet" + (reason.empty() ? "" : "; " + reason) +
                           "; use the CPU (--device cpu)");
  }
  return core::find_variant(variants(), "openmp_privatized", "pair_histogram");
}

}  // namespace gradus::pair_histogram_detail
