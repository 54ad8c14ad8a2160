// The option table of a product, one row per option. See core/options.hpp.
#pragma once

#include "core/options.hpp"
#include "gradus/matmul.hpp"

namespace gradus::core {

template <>
inline constexpr auto option_rows<MatmulOptions> = std::to_array<Option>({
    option<&MatmulOptions::alpha>({.name = "alpha", .help = "factor of the product", .finite = false}),
    option<&MatmulOptions::beta>({.name = "beta", .help = "factor of the matrix that is added", .finite = false}),
    option<&MatmulOptions::accuracy>(
        {.name = "accuracy",
         .help = "automatic: strict, or the accuracy of the named variant; strict: the same bits everywhere; split "
                 "permits f32 from several passes of a GPU's tensor cores, fast "
                 "from one, with few digits; both are strict without suitable tensor cores"}),
    option<&MatmulOptions::measure_error>(
        {.name = "measure_error",
         .help = "compare the product with the exact one, which takes longer than the product"}),
});

}  // namespace gradus::core
