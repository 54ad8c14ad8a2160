// THE table of subcommands, in the order of the help.
#include <array>

#include "cli/command.hpp"

namespace gradus::cli {

namespace {

constexpr std::array table = {
    Command{"demo", "cluster handwritten digits and look at them", "gradus demo", Common::job, "kmeans", setup_demo},
    Command{"kmeans", "cluster points into k groups",
            "gradus kmeans points.npy -k 16 -o clusters\n"
            "gradus kmeans photo.png -k 8 -o photo-in-8-colours\n"
            "cut -d, -f2,3 table.csv | gradus kmeans - -k 5",
            Common::job, "kmeans", setup_kmeans},
    Command{"predict", "label new points by the nearest of given centroids",
            "gradus predict clusters/centroids.npy more.npy -o labels.npy", Common::job, "kmeans", setup_predict},
    Command{"transform", "distances of points to given centroids",
            "gradus transform clusters/centroids.npy points.npy -o distances.npy", Common::place, "", setup_transform},
    Command{"pair-histogram", "count pairs of points by their distance",
            "gradus pair-histogram atoms.npy --bin-width 0.05 --box 40,40,40 --rdf -o rdf.csv\n"
            "gradus pair-histogram stars.csv --edges edges.csv --cross galaxies.csv\n"
            "gradus pair-histogram lab-atoms.npy --bin-width 500 --bins 80",
            Common::job, "pair_histogram", setup_pair_histogram},
    Command{"generate", "make inputs, also those of the published experiments",
            "gradus generate blobs -n 100000 -d 2 --clusters 16 -o blobs.npy\n"
            "gradus generate uniform -n 10000 -d 3 --low 0 --high 40 --dtype f64 -o atoms.npy\n"
            "gradus generate lab-points --size-mib 64 -d 16 --dtype f64 -o lab-points.npy\n"
            "gradus generate lab-atoms -n 10000 -o lab-atoms.npy",
            Common::output, "", setup_generate},
    Command{"list", "the ladders: every variant, where it runs, why not here", "gradus list kmeans", Common::output, "",
            setup_list},
    Command{"verify", "run every variant against its oracle",
            "gradus verify kmeans\n"
            "gradus verify pair-histogram --variant openmp_privatized --threads 1,2",
            Common::output, "", setup_verify},
    Command{"bench", "measure variants, or repeat a published experiment",
            "gradus bench kmeans --shape 20000x3 -k 64 --threads 1,2 --json bench.json\n"
            "gradus bench pair-histogram --data atoms.npy --bin-width 0.05 --cutoff 1 --box 40,40,40\n"
            "gradus bench --experiment kmeans-openmp --scale 0.01",
            Common::none, "", setup_bench},
    Command{"info", "this machine and this build", "gradus info", Common::output, "", setup_info},
    Command{"completion", "completion of the command line for bash, zsh or fish",
            "mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc ~/.config/fish/completions\n"
            "gradus completion bash > ~/.local/share/bash-completion/completions/gradus\n"
            "gradus completion zsh > ~/.zfunc/_gradus\n"
            "gradus completion fish > ~/.config/fish/completions/gradus.fish",
            Common::none, "", setup_completion},
    Command{"manual", "the manual page", "gradus manual > gradus.1", Common::none, "", setup_manual},
};

}  // namespace

std::span<const Command> commands() { return table; }

}  // namespace gradus::cli
