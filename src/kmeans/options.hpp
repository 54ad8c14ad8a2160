// The options of a fit and of its checkpoints, one row each: see core/options.hpp.
#pragma once

#include "core/options.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::core {

template <>
inline constexpr auto option_rows<KMeansOptions> = std::to_array<Option>({
    option<&KMeansOptions::clusters>(
        {.name = "clusters", .help = "number of clusters", .letter = 'k', .least = 1, .most = 0x7fffffff}),
    option<&KMeansOptions::init>({.name = "init",
                                  .help = "first centroids",
                                  .calls = "kmeans_initial_centroids kmeans_memory kmeans_bisecting"}),
    option<&KMeansOptions::init_rows>(
        {.name = "init_rows",
         .help = "choose the first centroids from this many rows, drawn at random without replacement; 0: from all",
         .least = 0,
         .most = 0x7fffffff,
         .calls = "kmeans_initial_centroids kmeans_memory"}),
    option<&KMeansOptions::restarts>(
        {.name = "restarts",
         .help =
             "number of fits, each from its own seed; the one with the least inertia is kept; 0: fit until most fits "
             "came after the best one, at most 100 times",
         .least = 0,
         .calls = "kmeans_memory kmeans_bisecting"}),
    option<&KMeansOptions::max_iterations>(
        {.name = "max_iterations", .help = "iteration limit", .least = 1, .calls = "kmeans_bisecting"}),
    option<&KMeansOptions::tolerance>({.name = "tolerance",
                                       .help = "stop when the centroids' squared movements sum to at most this times "
                                               "the mean variance of a column, as scikit-learn does; 0: never",
                                       .least = 0,
                                       .calls = "kmeans_bisecting"}),
    option<&KMeansOptions::changed_fraction>({.name = "changed_fraction",
                                              .help = "stop when at most this share of the labels changed; 0: never",
                                              .shown = "changed",
                                              .least = 0,
                                              .most = 1,
                                              .calls = "kmeans_bisecting"}),
    option<&KMeansOptions::empty>(
        {.name = "empty",
         .help = "an empty cluster moves to the farthest point, keeps its centroid, or fails the job",
         .calls = "KMeans kmeans_bisecting"}),
    option<&KMeansOptions::fewer_distinct>(
        {.name = "fewer_distinct",
         .help = "fewer different points than clusters fail the job, or leave clusters that repeat a "
                 "centroid and have no points",
         .calls = "kmeans_initial_centroids kmeans1d kmeans_bisecting",
         .scikit_learn = "accept"}),
    option<&KMeansOptions::size_min>(
        {.name = "size_min",
         .help = "least number of points per cluster; every assignment is the best one within the limits; 0: no limit",
         .least = 0,
         .calls = "kmeans_memory KMeans"}),
    option<&KMeansOptions::size_max>({.name = "size_max",
                                      .help = "greatest number of points per cluster; 0: no limit",
                                      .least = 0,
                                      .calls = "kmeans_memory KMeans"}),
    option<&KMeansOptions::balanced>(
        {.name = "balanced",
         .help = "keep all clusters within 10 % of the mean size: floor(0.9 n/k) to ceil(1.1 n/k) points",
         .calls = "kmeans_memory KMeans"}),
    option<&KMeansOptions::quality>(
        {.name = "quality",
         .help = "after the fit, exchange centroids and fit again while that lowers the inertia, for about as long as "
                 "the fit took",
         .calls = "kmeans_memory KMeans"}),
    option<&KMeansOptions::quality_moves>(
        {.name = "quality_moves",
         .help = "try this number of exchanges instead, with the same result on any number of threads and ranks",
         .least = 0,
         .most = 0x7fffffff,
         .calls = "kmeans_memory KMeans"}),
    option<&KMeansOptions::metric>(
        {.name = "metric",
         .help = "the measure of nearness: the distance, or the angle between rows, which are scaled to "
                 "unit length (spherical k-means)",
         .calls = "kmeans_initial_centroids kmeans_memory KMeans"}),
    // This option is not part of a job's key, because the job's fit receives points that are already standardized.
    option<&KMeansOptions::standardize>(
        {.name = "standardize",
         .help = "bring every column to mean 0 and variance 1 first; centroids come back in the units of the data",
         .in_job = false,
         .calls = "kmeans_initial_centroids kmeans_memory KMeans"}),
    option<&KMeansOptions::seed>(
        {.name = "seed", .help = "seed of the random numbers", .calls = "kmeans_initial_centroids kmeans_bisecting"}),
});

template <>
inline constexpr auto option_rows<KMeansCheckpoint> = std::to_array<Option>({
    option<&KMeansCheckpoint::file>(
        {.name = "checkpoint.file",
         .help = "save the state of the fit there, so that it can resume with other threads, another exact "
                 "variant or another device, to the same bits. SIGUSR1 and a stop request write a "
                 "checkpoint at once",
         .shown = "checkpoint",
         .placeholder = "FILE.npz",
         .is_file = true,
         .recorded = false}),
    option<&KMeansCheckpoint::seconds>({.name = "checkpoint.seconds",
                                        .help = "seconds between two checkpoints",
                                        .least = 0,
                                        .above_least = true,
                                        .finite = false}),
    option<&KMeansCheckpoint::iterations>(
        {.name = "checkpoint.iterations", .help = "iterations between two checkpoints, or 0", .least = 0}),
    option<&KMeansCheckpoint::resume>(
        {.name = "checkpoint.resume",
         .help = "resume from the checkpoint; if there is none yet, start from the beginning and say so",
         .shown = "resume",
         .recorded = false}),
});

}  // namespace gradus::core
