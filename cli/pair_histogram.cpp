// `gradus pair-histogram`: reads points, counts their pairs by distance, and writes the histogram.
#include "cli/pair_histogram_result.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/pair_histogram.hpp"
#include "cli/command.hpp"
#include "cli/destination.hpp"
#include "cli/output.hpp"
#include "cli/pair_histogram_count.hpp"
#include "cli/pair_histogram_groups.hpp"
#include "cli/ranks.hpp"
#include "cli/repeat.hpp"
#include "cli/report.hpp"
#include "core/names.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "files/file.hpp"
#include "pair_histogram/arrange.hpp"
#include "pair_histogram/files/trajectory.hpp"
#include "pair_histogram/options.hpp"
#include "pair_histogram/ranks.hpp"

namespace gradus::cli {

namespace pairs {

namespace {

using Json = nlohmann::ordered_json;

/// Calls the function. If it throws, adds the number of the trajectory's frame to the message, and names the option
/// that was refused. If it refuses a box of the input file, throws InputError instead.
template <class Function>
decltype(auto) naming_frame(const Arguments& arguments, bool is_trajectory, std::int64_t frame, Function&& function) {
  const std::string place = is_trajectory ? fmt::format(" (in frame {}, counted from 0)", frame) : "";
  const std::string& file = arguments.input;
  const auto name = [&](Error& error) {
    ErrorFields fields = error.fields();
    fields.context += place;
    error.set_fields(fields);
  };
  try {
    return function();
  } catch (UsageError& error) {
    if (arguments.options.box.empty() && error.fields().argument == "box")
      throw InputError(fmt::format("'{}': {}", file, error.what()),
                       {.code = error_code::bad_input, .file = file, .context = place});
    name_option(arguments, error);
    name(error);
    throw;
  } catch (InputError& error) {
    name(error);
    throw;
  }
}

/// Prints a note if there are tiny edges. The squares of such edges have few or no significant digits in double, and
/// the square of a distance below 1e-162 is 0.
void note_tiny_edges(const Session& session, std::span<const double> edges) {
  constexpr double least = 0x1p-500;
  const auto positive = std::ranges::find_if(edges, [](double edge) { return edge > 0; });
  if (positive != edges.end() && *positive < least)
    session.note(
        fmt::format("bins end at {} and squares of such distances lose digits in double; scale the points up "
                    "(all is exact from 2^-500 = 3.1e-151 on)",
                    core::number_text(*positive)));
}

void note_folded(const Session& session, const Sum& sum) {
  if (sum.folded_atoms > 0)
    session.note(
        fmt::format("{} of {}, outside the file's box, {} moved into it by whole lengths, which changes no "
                    "distance",
                    counted(sum.folded_atoms, "atom"), counted(sum.folded_frames, "frame"),
                    sum.folded_atoms == 1 ? "was" : "were"));
}

/// Returns least_reach() over all frames. If the input is a stream, only the frames that have not been read yet count.
double least_reach_of_all(const Arguments& arguments, files::FrameReader& reader, std::int64_t seen) {
  if (files::is_stream(arguments.input)) return least_reach(arguments, reader, seen);
  files::FrameReader again(arguments.input, arguments.reading);
  return least_reach(arguments, again);
}

/// If the options specify neither the number of bins nor the cutoff, sets the cutoff to the greatest distance that the
/// boxes of all frames allow.
void complete_bins_of_frames(Arguments& arguments) {
  PairHistogramBins& bins = arguments.options.bins;
  const bool is_complete = !arguments.edges.empty() || bins.bins != 0 || bins.cutoff != 0;
  if (is_complete || !arguments.options.box.empty() || files::is_stream(arguments.input)) return;
  files::FrameReader reader(arguments.input, arguments.reading);
  const double least = naming_frame(arguments, false, 0, [&] { return least_reach(arguments, reader); });
  if (std::isfinite(least)) bins.cutoff = least;
}

template <class T>
int count_pairs(const Arguments& arguments, const Session& session, files::FrameReader& reader, WantedFrames& frames,
                std::optional<files::Frame> frame, AtomGroups& groups, core::Clock::time_point start) {
  const char* const dtype = sizeof(T) == 4 ? "f32" : "f64";
  double read = core::seconds_since(start);
  std::optional<Counter<T>> counter;
  std::optional<Destination> opened;
  std::optional<core::AtomicFile> page;
  session.ranks().agree([&] {
    counter.emplace(arguments, session, reader, frame->points, groups);
    if (!session.is_first()) return;
    opened.emplace(arguments.output, session.execution.stop, true);
    if (!arguments.page.empty()) page.emplace(arguments.page, session.execution.stop);
  });
  if (session.job && !arguments.others.empty())
    require_same_file(session.ranks(), arguments.others, [&] { return counter->pairs_frames() ? 1U : 0U; });
  while (frame) {
    naming_frame(arguments, reader.is_trajectory(), frames.number(),
                 [&] { counter->add(*frame, [&] { return least_reach_of_all(arguments, reader, frames.seen()); }); });
    const core::Clock::time_point read_start = core::Clock::now();
    frame = frames.next();
    read += core::seconds_since(read_start);
  }
  session.end_progress();
  const Sum& sum = counter->finish();
  require_frames_for_blocks(arguments, sum.frames);
  frames.note_open_end();
  if (counter->others_frames() != nullptr) counter->others_frames()->note_open_end();
  note_tiny_edges(session, sum.parts.front().histogram.edges);
  note_folded(session, sum);
  const std::vector<std::optional<Radial>> radials = radials_of(arguments, sum);
  const std::string threads = threads_text(session, sum.parts.front().histogram.report.threads);
  if (!session.is_first()) return 0;  // only the first rank writes; the other ranks are done

  Destination& destination = *opened;
  const auto write_start = core::Clock::now();
  const Table table = table_of(arguments, sum, radials);
  const auto summary = [&] {
    Json all = summary_of(arguments, sum, dtype, radials);
    std::vector<Phase> phases;
    for (const Part& part : sum.parts)
      for (const Phase& phase : part.histogram.report.phases) core::add_phase(phases, phase.name, phase.seconds);
    add_record(all, session, core::option_rows<PairHistogramOptions>, &sum.options);
    all["seconds"] =
        seconds_of(read + sum.read, "histogram", phases, core::seconds_since(write_start), core::seconds_since(start));
    return all;
  };
  if (page)
    write_page(
        *page, summary(), [](Page&) {}, session);
  deliver_table(destination, session, table, summary);
  if (session.json) return 0;
  session.note(closing_line(sum, dtype, core::seconds_since(start), threads) +
               (destination.is_file() ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

/// Returns the number of frames in the input. Ranges that count from the end need this number.
std::int64_t frames_of(const Arguments& arguments) {
  if (arguments.input == "-")
    throw UsageError(
        fmt::format("--frames {}: the number of frames on standard input is unknown, so none can be counted from the "
                    "end; name a file, or count from the beginning",
                    arguments.frames.text()));
  files::FrameReader reader(arguments.input, arguments.reading);
  std::int64_t frames = 0;
  try {
    while (reader.skip()) ++frames;
    // a truncated frame counts, too: its error is reported when the frame is read
  } catch (const files::CutFrameError&) {
    ++frames;
  }
  return frames;
}

/// Called if the program runs as several ranks. Throws UnsupportedError if an input is standard input, because only the
/// first rank has it. Selects this rank's GPU if the ranks use GPUs. Prints a note if the launcher has bound the ranks
/// to too few CPUs.
void prepare_ranks(const std::vector<std::string>& inputs, Session& session) {
  if (std::ranges::find(inputs, "-") != inputs.end())
    throw UnsupportedError(
        "only one process has standard input, and a launcher has started several, each of which reads all of the "
        "input; "
        "name a file");
  const Device device = pair_histogram_detail::device_on_ranks(session.execution);
  if (device == Device::gpu && !session.names_gpu) session.execution.gpu = gpu_of_rank(*session.job);
  const std::string note = note_of_binding(*session.job, cpu::thread_count(session.execution));
  if (!note.empty()) session.note(note);
}

/// Makes the reader check the memory of a frame: the positions, their copy in the box, and the chosen rows.
void limit_memory(files::FrameReader& reader, const Execution& execution) {
  constexpr std::uint64_t times_positions = 3;
  reader.set_memory_check([&execution](std::uint64_t bytes) {
    execution::check_memory(times_positions * bytes, execution, "a frame is read as a whole; write fewer atoms");
  });
}

/// Returns the reason why options of pairs have no effect.
NoEffectReason not_for_waves(const Arguments& arguments) {
  return [&arguments] { return arguments.has_waves() ? "--structure-factor counts no pairs" : ""; };
}

/// Called with --structure-factor. Throws an error for a request that S(q) cannot satisfy.
void check_waves(const Arguments& arguments, const Session& session) {
  const Execution& execution = session.execution;
  if (execution.device == Device::gpu || !execution.gpus.empty() || session.chooses_gpus)
    throw UnsupportedError("--structure-factor runs on the CPU; leave out --device gpu and --gpus");
  if (session.job) throw UnsupportedError("--structure-factor runs in one process, and a launcher has started several");
  if (!execution.variant.empty())
    throw UsageError("--variant has no effect: --structure-factor has one way to run", {.code = error_code::no_effect});
  if (arguments.is_weighted() || arguments.is_cross() || arguments.radial || arguments.partial || arguments.exclude ||
      arguments.options.fold || arguments.options.beyond_half || !arguments.page.empty())
    throw UsageError(
        "--structure-factor sums over one set of points; leave out --weights, --weight-column, --cross, "
        "--cross-select, --rdf, --partial, --exclude-same, --fold, --beyond-half and --report",
        {.code = error_code::argument_conflict});
}

void add_bin_options(Options& options, Arguments& arguments) {
  options.heading("Bins", not_for_waves(arguments));
  PairHistogramOptions& own = arguments.options;
  for (const bench::Axis& axis : bench::bin_axes(own, arguments.edges))
    options.row(core::option_row<PairHistogramOptions>(core::with_underscores(axis.name)), &own, axis.parse);
  options.flag("--centers", arguments.centers, "also write a column with the centre of each bin");
}

/// Adds --structure-factor and its options.
void add_wave_options(Options& options, Arguments& arguments) {
  options.heading("Structure factor");
  options.value(
      "--structure-factor", "QMAX,WIDTH",
      "write S(q) instead of the histogram: in bins of this width up to this wave number, from the waves that "
      "fit the box",
      [&waves = arguments.waves](const std::string& text) {
        const std::vector<std::string> parts = parse_list("--structure-factor", text);
        if (parts.size() != 2)
          throw UsageError("--structure-factor: " + core::excerpt(text) +
                           " is not two numbers QMAX,WIDTH, such as 10,0.1");
        waves.q_max = parse_positive("--structure-factor", parts[0]);
        waves.width = parse_positive("--structure-factor", parts[1]);
      });
  options.ineffective_if(options.whole<std::int64_t>("--vectors-per-bin", arguments.waves.vectors_per_bin,
                                                     "sum over at most this many waves of each bin, evenly spread; 0: "
                                                     "over all",
                                                     0, 1'000'000'000),
                         [&arguments] { return arguments.has_waves() ? "" : "it needs --structure-factor"; });
}

void add_space_options(Options& options, Arguments& arguments) {
  options.heading("Space");
  PairHistogramOptions& own = arguments.options;
  const auto row = [](std::string_view name) -> const core::Option& {
    return core::option_row<PairHistogramOptions>(name);
  };
  options.row(row("box"), &own, bench::box_axis(own).parse);
  options.row(row("box_origin"), &own);
  options.row(row("periodic"), &own, [&own](const std::string& label, const std::string& text) {
    if (text != "none") pair_histogram_detail::check_directions(text, label);
    own.periodic = text;
  });
  options.row(row("dimensions"), &own, [&own](const std::string& label, const std::string& text) {
    pair_histogram_detail::check_directions(text, label);
    own.dimensions = text;
  });
  options.row(row("fold"), &own);
  options.ineffective_if(options.row(row("beyond_half"), &own), [&arguments] {
    const PairHistogramBins& bins = arguments.options.bins;
    return arguments.edges.empty() && bins.bins == 0 && bins.cutoff == 0
               ? "without --cutoff, --bins or --edges, the bins end at half of the box"
               : "";
  });
  options.flag("--rdf", arguments.radial,
               "also compute the radial distribution g, the density around a point, and the coordination number");
  options.ineffective_if(
      options.value("--volume", "V", "for --rdf: volume that the points occupy [the volume of the box]",
                    [&arguments](const std::string& text) { arguments.volume = parse_positive("--volume", text); }),
      [&arguments] { return arguments.radial ? "" : "it needs --rdf"; });
  options.ineffective_if(
      options.whole<std::int64_t>("--blocks", arguments.blocks,
                                  "for --rdf and --structure-factor: also write standard errors, from the spread of "
                                  "this many blocks of consecutive frames [none]",
                                  2, 1'000'000),
      [&arguments] { return arguments.radial || arguments.has_waves() ? "" : "it needs --rdf or --structure-factor"; });
}

void add_atom_options(Options& options, Arguments& arguments) {
  options.heading("Atoms and frames of a trajectory");
  const auto selection = [](std::optional<files::AtomSelection>& target, const char* name) {
    return [&target, name](const std::string& text) { target.emplace(text, name); };
  };
  options.value("--select", "ATOMS",
                "count only these atoms: 'type O', 'element H', 'name OW', 'residue SOL', 'id 1-100,205', 'index "
                "0-99', 'z 10:20', 'all', combined with 'not', 'and', 'or' and parentheses",
                selection(arguments.selection, "--select"));
  options.value(
      "--cross-select", "ATOMS",
      "count the pairs between the points and these atoms, chosen as by --select ('all', for example), which are in "
      "the file of --cross if it is given",
      selection(arguments.cross_selection, "--cross-select"));
  options.ineffective_if(
      options.flag("--partial", arguments.partial,
                   "write columns for each pair of kinds of atoms: by element if the file has it, otherwise by type, "
                   "otherwise by name"),
      [&arguments]() -> std::string {
        if (arguments.is_cross()) return "it pairs all kinds with each other; leave out --cross and --cross-select";
        return arguments.is_weighted() ? "it counts without weights; leave out --weights and --weight-column" : "";
      });
  Arguments* const all = &arguments;
  options.ineffective_if(
      options.file(
          "--topology", arguments.topology, "FILE",
          "take names, elements, residues and bonds of the atoms from this .gro, .pdb, XYZ or LAMMPS file [INPUT]"),
      [all] {
        return all->uses_topology() ? ""
                                    : "it needs --partial, --exclude-same, --mass-centers, or a --select or "
                                      "--cross-select of atoms of INPUT by type, element, name, residue or id";
      });
  options.ineffective_if(
      options.choice("--exclude-same", arguments.exclude,
                     "leave out pairs of atoms of one residue or molecule, or joined by a bond", "none"),
      [all]() -> std::string {
        if (!all->others.empty()) return "it needs atoms of one file; use --cross-select in place of --cross";
        if (all->mass_centers && all->exclude == Exclude::bonded) return "centres of mass have no bonds";
        return all->is_weighted() ? "it counts without weights; leave out --weights and --weight-column" : "";
      });
  options.ineffective_if(
      options.choice("--mass-centers", arguments.mass_centers,
                     "count the centres of mass of residues or molecules; selections then choose among these", "none"),
      [all]() -> std::string {
        if (!all->others.empty()) return "it needs atoms of one file; use --cross-select in place of --cross";
        return all->is_weighted() ? "it counts without weights; leave out --weights and --weight-column" : "";
      });
  options.value("--frames", "A:B:STEP",
                "count every STEP-th frame from A up to but excluding B, numbered from 0, like a Python slice; or a "
                "single frame [all]",
                [&arguments](const std::string& text) { arguments.frames = FrameRange(text); });
}

/// Called if INPUT is no trajectory. Reports missing options before the points are read.
void check_without_frames(const Arguments& arguments) {
  if (arguments.frames.is_given())
    throw UsageError(fmt::format("--frames has no effect: '{}' is no trajectory", arguments.input));
  if (!arguments.topology.empty() || arguments.exclude || arguments.mass_centers)
    throw UsageError(fmt::format("--topology, --exclude-same and --mass-centers need a trajectory, and '{}' is none",
                                 arguments.input));
  require_frames_for_blocks(arguments, 1);
  const Box box = box_of(arguments, {});
  PairHistogramOptions options = options_in(arguments, box);
  if (!arguments.has_waves()) bench::complete_bins(options);
  if (arguments.radial) volume_of(arguments, box);
}

Action setup_pair_histogram(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("INPUT", arguments->input, "INPUT",
                                 "points with 1 to 3 coordinates, one per row: .npy, .csv, .tsv; - for CSV on standard "
                                 "input; or the frames of a trajectory, added up: " +
                                     files::endings_for(files::Reader::frames, ", ") +
                                     "; text also with .gz or on standard input"));
  add_table_output(options, arguments->output,
                   "write the histogram there, .csv, .npy or .json [CSV on standard output]", true);
  options.not_repeated(options.file("--report", arguments->page, "FILE.html",
                                    "write a page with charts of the counts; with --rdf also of g, density and "
                                    "coordination; with --partial of all kinds of pairs"));
  options.file(
      "--cross", arguments->others, "FILE",
      "count the pairs between the points and the points of this file, whose columns are found by their names");
  options.file("--weights", arguments->weights, "FILE", "one weight per point; a pair's weight is the product");
  options.ineffective_if(
      options.file("--cross-weights", arguments->other_weights, "FILE", "weights of the points of --cross"),
      [arguments = arguments.get()] { return arguments->others.empty() ? "it needs --cross" : ""; });
  add_reading_options(options, session, arguments->reading);
  add_column_options(options, arguments->reading, {.weight = true, .why_no_weight = [arguments = arguments.get()] {
                                                     return arguments->weights.empty() &&
                                                                    arguments->other_weights.empty()
                                                                ? ""
                                                                : "--weights and --cross-weights name files of weights";
                                                   }});
  add_bin_options(options, *arguments);
  add_atom_options(options, *arguments);
  add_wave_options(options, *arguments);
  add_space_options(options, *arguments);
  options.heading(std::string(ranks_heading));
  add_stall_option(options, session);
  return [arguments, &session] {
    const auto start = core::Clock::now();
    if (arguments->has_waves()) check_waves(*arguments, session);
    else bench::check_bins(arguments->options.bins, arguments->edges);
    const std::vector<std::string> inputs{arguments->input,         arguments->others, arguments->weights,
                                          arguments->other_weights, arguments->edges,  arguments->topology};
    arguments->reading.threads = cpu::thread_count(session.execution);
    if (session.job) prepare_ranks(inputs, session);
    std::optional<files::ResidentLimit> pages;  // of mapped trajectories
    std::optional<files::FrameReader> reader;
    session.ranks().agree([&] {
      require_one_standard_input(inputs);
      require_table_for_header(arguments->reading, inputs,
                               {arguments->weights, arguments->other_weights, arguments->edges});
      require_no_input_overwritten({arguments->output, arguments->page}, inputs);
      reader.emplace(arguments->input, arguments->reading, arguments->needs_labels() && arguments->topology.empty());
      limit_memory(*reader, session.execution);
      constexpr std::uint64_t least_resident = std::uint64_t{64} << 20;
      if (reader->is_trajectory() && session.execution.memory_limit > 0)
        pages.emplace(std::max(session.execution.memory_limit / 4, least_resident));
      if (!reader->is_trajectory()) naming_frame(*arguments, false, 0, [&] { check_without_frames(*arguments); });
      if (arguments->frames.needs_count()) arguments->frames.resolve(frames_of(*arguments));
      if (reader->is_trajectory() && !arguments->has_waves()) complete_bins_of_frames(*arguments);
    });
    WantedFrames frames(*reader, arguments->input, arguments->frames, session);
    std::optional<files::Frame> frame = frames.next();
    session.ranks().agree([&] {
      if (frame) return;
      throw InputError(fmt::format("'{}': --frames {} takes none of its {}, counted from 0", arguments->input,
                                   arguments->frames.text(),
                                   counted(arguments->input == "-" ? frames.seen() : frames_of(*arguments), "frame")));
    });
    if (arguments->has_waves())
      return write_structure_factor(
          *arguments, session, frames, std::move(frame),
          [&](const std::function<void()>& function) {
            naming_frame(*arguments, reader->is_trajectory(), frames.number(), function);
          },
          start);
    AtomGroups groups(*arguments, session);
    const bool single = frame->points.type() == files::ElementType::f32;
    return single ? count_pairs<float>(*arguments, session, *reader, frames, std::move(frame), groups, start)
                  : count_pairs<double>(*arguments, session, *reader, frames, std::move(frame), groups, start);
  };
}

}  // namespace

}  // namespace pairs

Command pair_counts_command();
ProblemCommands pair_histogram_commands();
ProblemCommands pair_histogram_commands() {
  return {.commands = {{"pair-histogram",
                        "count pairs of points by their distance",
                        "gradus pair-histogram atoms.npy --bin-width 0.05 --box 40,40,40 --rdf -o rdf.csv\n"
                        "gradus pair-histogram stars.csv --edges edges.csv --cross galaxies.csv\n"
                        "gradus pair-histogram lab-atoms.npy --bin-width 500 --bins 80\n"
                        "gradus pair-histogram trajectory.xyz --bin-width 0.05 --rdf --partial --frames ::10",
                        Common::job,
                        "pair_histogram",
                        pairs::setup_pair_histogram,
                        "gradus pair-histogram points.npy --bin-width 2 --bins 50",
                        "count their pairs by distance",
                        {},
                        true,
                        true},
                       pair_counts_command()},
          .examples = {
              {"verify", "gradus verify pair-histogram --variant openmp_privatized --threads 1,2"},
              {"bench", "gradus bench pair-histogram --data atoms.npy --bin-width 0.05 --cutoff 1 --box 40,40,40"}}};
}

}  // namespace gradus::cli
