// pair_histogram() on several GPUs.
#include <array>
#include <utility>
#include <vector>

#include "execution/gpu_group.hpp"
#include "execution/gpu_memory.hpp"
#include "pair_histogram/api/steps.hpp"

namespace gradus::pair_histogram_detail {

template <class T>
PairHistogramResult count_on_gpus(MatrixView<const T> points, const PairHistogramOptions& options,
                                  const PairHistogramMemory<T>& memory, const Execution& execution) {
  const std::array places = check_views(points, memory);
  execution::GpuGroup group(execution);
  // The CPU cannot read data on a GPU, so its variants are refused before the data is examined.
  if (!execution.variant.empty())
    execution::check_device(core::find_variant(variants(), execution.variant, Room::name),
                            execution::on_first_gpu(execution), Room::name);
  execution::wait_for_data(places, execution);
  std::vector<PairHistogramResult> results = group.run([&](int /*rank*/, const Execution& here) {
    const execution::RowsForGpu<T> rows(points, here.gpu);
    const execution::RowsForGpu<T> others(memory.others, here.gpu);
    const execution::ElementsForGpu<T> weights(memory.weights, here.gpu);
    const execution::ElementsForGpu<T> other_weights(memory.other_weights, here.gpu);
    const PairHistogramMemory<T> own{others.view(), weights.view(), other_weights.view()};
    return count(rows.view(), options, own, here, RankData::shared);
  });
  group.describe(results.front().report);
  return std::move(results.front());
}

#define GRADUS_INSTANTIATE(T)                                                                  \
  template PairHistogramResult count_on_gpus(MatrixView<const T>, const PairHistogramOptions&, \
                                             const PairHistogramMemory<T>&, const Execution&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::pair_histogram_detail
