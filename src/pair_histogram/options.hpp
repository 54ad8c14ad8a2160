// The option table of a histogram, one row per option. See core/options.hpp.
#pragma once

#include "core/options.hpp"
#include "gradus/pair_histogram.hpp"

namespace gradus::core {

template <>
inline constexpr auto option_rows<PairHistogramOptions> = std::to_array<Option>({
    option<&PairHistogramOptions::bins, &PairHistogramBins::bin_width>(
        {.name = "bin_width",
         .help = "width of the bins; the first begins at distance 0",
         .placeholder = "W",
         .least = 0,
         .above_least = true,
         .optional = true}),
    option<&PairHistogramOptions::bins, &PairHistogramBins::bins>({.name = "bins",
                                                                   .help = "number of bins",
                                                                   .initial = "up to the cutoff, or to half of the box",
                                                                   .least = 1,
                                                                   .optional = true}),
    option<&PairHistogramOptions::bins, &PairHistogramBins::edges>({.name = "edges",
                                                                    .help = "instead: the increasing edges of the bins",
                                                                    .placeholder = "FILE",
                                                                    .is_file = true,
                                                                    .optional = true}),
    option<&PairHistogramOptions::bins, &PairHistogramBins::cutoff>(
        {.name = "cutoff",
         .help = "count no pair at this distance or farther",
         .placeholder = "R",
         .least = 0,
         .above_least = true,
         .optional = true}),
    option<&PairHistogramOptions::box>(
        {.name = "box",
         .help = "lengths of a periodic box: distances are between nearest images; of a triclinic cell "
                 "LX,LY,LZ,XY,XZ,YZ (lengths and tilts, as LAMMPS has them), or the nine numbers of its vectors",
         .placeholder = "X,Y,Z",
         .optional = true}),
    option<&PairHistogramOptions::box_origin>({.name = "box_origin",
                                               .help = "lower corner of the box",
                                               .placeholder = "X,Y,Z",
                                               .initial = "0,0,0",
                                               .optional = true}),
    option<&PairHistogramOptions::periodic>(
        {.name = "periodic",
         .help = "directions in which the box repeats, some of xyz (of a triclinic cell its vectors), or none",
         .placeholder = "AXES",
         .initial = "all of a box that is given, or what the file says",
         .from_input = true}),
    option<&PairHistogramOptions::dimensions>(
        {.name = "dimensions",
         .help = "measure distances in these columns alone: xy of a layer, whose g then goes by rings",
         .placeholder = "AXES",
         .initial = "all",
         .optional = true}),
    option<&PairHistogramOptions::fold>({.name = "fold",
                                         .help = "move points outside the box into it, by whole lengths"}),
    option<&PairHistogramOptions::beyond_half>(
        {.name = "beyond_half",
         .help = "bins may reach past half of the box; g then divides by the part of a shell that is in the box around "
                 "a point"}),
});

}  // namespace gradus::core
