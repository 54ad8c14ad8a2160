// `gradus demo`: clusters real data within a second.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/kmeans.hpp"
#include "cli/output.hpp"
#include "core/phases.hpp"
#include "files/image.hpp"
#include "files/points.hpp"
#include "gradus/error.hpp"
#include "gradus/kmeans.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t digit_side = 8;  // pixels per side of the image of a digit
constexpr float darkest_ink = 16;       // maximum value of a pixel
constexpr std::int64_t clusters = 10;

/// Returns the path of a data file. The file is in the installation or, if Gradus is not installed, in the source tree
/// of the build.
std::string data_file(const std::string& name) {
  namespace files = std::filesystem;
  std::error_code ignored;
  const files::path program = files::read_symlink("/proc/self/exe", ignored);
  const files::path installed = program.parent_path().parent_path() / "share" / "gradus" / "data" / name;
  const files::path source = files::path(GRADUS_SOURCE_DATA) / name;
  for (const files::path& candidate : {installed, source})
    if (files::is_regular_file(candidate, ignored)) return candidate;
  throw Error("the demo's data '" + name + "' is neither at '" + installed.string() + "' nor at '" + source.string() +
              "'; install Gradus again, or run the program from its source tree");
}

struct DemoGroup {
  std::int64_t cluster = 0;
  std::int64_t size = 0;
  std::int64_t digit = 0;     ///< the most frequent digit in the cluster
  std::int64_t agreeing = 0;  ///< number of points in the cluster that show this digit
};

std::vector<DemoGroup> groups_of(const KMeansResult<float>& result, VectorView<const float> digits) {
  std::vector<std::array<std::int64_t, 10>> counts(clusters);
  for (std::int64_t point = 0; point < digits.size(); ++point)
    ++counts[static_cast<std::size_t>(result.labels[point])][static_cast<std::size_t>(digits[point])];
  std::vector<DemoGroup> groups;
  for (std::int64_t cluster = 0; cluster < clusters; ++cluster) {
    const auto& count = counts[static_cast<std::size_t>(cluster)];
    const auto most = std::ranges::max_element(count);
    groups.push_back({cluster, result.counts[static_cast<std::size_t>(cluster)], most - count.begin(), *most});
  }
  std::ranges::sort(groups, {}, [](const DemoGroup& group) { return std::pair(group.digit, group.cluster); });
  return groups;
}

/// Returns the ink at any place in the image of a digit, by linear interpolation between pixels. Places outside the
/// image are white.
float ink_at(const float* digit, float x, float y) {
  const auto pixel = [&](std::int64_t column, std::int64_t row) {
    const bool inside = column >= 0 && row >= 0 && column < digit_side && row < digit_side;
    return inside ? digit[row * digit_side + column] : 0.0F;
  };
  const float left = std::floor(x);
  const float top = std::floor(y);
  const auto column = static_cast<std::int64_t>(left);
  const auto row = static_cast<std::int64_t>(top);
  const float across = x - left;
  const float down = y - top;
  const float above = pixel(column, row) * (1 - across) + pixel(column + 1, row) * across;
  const float below = pixel(column, row + 1) * (1 - across) + pixel(column + 1, row + 1) * across;
  return above * (1 - down) + below * down;
}

/// A picture of the centroids as dark digits on a light ground, in two rows of five digits. Each digit has a frame.
struct Picture {
  static constexpr std::int64_t enlargement = 14;
  static constexpr std::int64_t tile = digit_side * enlargement;
  static constexpr std::int64_t gap = 12;
  static constexpr std::int64_t per_row = 5;
  static constexpr std::uint8_t paper = 255;
  static constexpr std::uint8_t frame = 190;

  files::PictureShape shape{per_row * (tile + gap) + gap, clusters / per_row*(tile + gap) + gap, 1};
  Buffer<std::uint8_t> pixels{shape.width * shape.height, paper};

  Picture(const Matrix<float>& centroids, const std::vector<DemoGroup>& groups) {
    for (std::size_t place = 0; place < groups.size(); ++place) {
      const auto position = static_cast<std::int64_t>(place);
      draw(centroids.row(groups[place].cluster), gap + position % per_row * (tile + gap),
           gap + position / per_row * (tile + gap));
    }
  }

  void draw(const float* digit, std::int64_t left, std::int64_t top) {
    for (std::int64_t y = -1; y <= tile; ++y)
      for (std::int64_t x = -1; x <= tile; ++x) {
        std::uint8_t& pixel = pixels[(top + y) * shape.width + left + x];
        if (x < 0 || y < 0 || x == tile || y == tile) {
          pixel = frame;
          continue;
        }
        const auto between = [](std::int64_t place) {
          return (static_cast<float>(place) + 0.5F) / static_cast<float>(enlargement) - 0.5F;
        };
        const float ink = std::clamp(ink_at(digit, between(x), between(y)) / darkest_ink, 0.0F, 1.0F);
        pixel = static_cast<std::uint8_t>(std::lround(static_cast<float>(paper) * (1 - ink)));
      }
  }
};

int demo(const std::string& directory, const Session& session) {
  const auto start = core::Clock::now();
  const files::Points points =
      files::read_points(data_file("digits.npy"), {.type = files::ElementType::f32, .stop = {}});
  const files::VectorOf<float> digits = files::read_vector<float>(data_file("digits_labels.npy"));
  core::OutputSet outputs(directory, {"centroids.png"});
  core::AtomicFile& picture_file = outputs.add("centroids.png");

  KMeansOptions options;
  options.clusters = clusters;
  options.restarts = 10;
  const KMeansResult<float> result = kmeans(points.view<float>(), options, session.execution);
  session.end_progress();
  const std::vector<DemoGroup> groups = groups_of(result, digits.view);
  const Picture picture(result.centroids, groups);
  files::write_png(picture_file, picture.shape,
                   {picture.pixels.data(), static_cast<std::size_t>(picture.pixels.size())});
  outputs.commit();

  const std::string path = (std::filesystem::path(directory) / "centroids.png").string();
  const auto agreeing = std::accumulate(groups.begin(), groups.end(), std::int64_t{0},
                                        [](std::int64_t sum, const DemoGroup& group) { return sum + group.agreeing; });
  const double seconds = core::seconds_since(start);
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  if (session.json) {
    Json rows = Json::array();
    for (const DemoGroup& group : groups)
      rows.push_back({{"cluster", group.cluster},
                      {"size", group.size},
                      {"share", share(group.size, points.rows())},
                      {"digit", group.digit},
                      {"agreement", share(group.agreeing, group.size)}});
    session.print_json({{"n", points.rows()},
                        {"d", points.columns()},
                        {"k", clusters},
                        {"inertia", result.inertia},
                        {"iterations", result.iterations},
                        {"variant", result.report.variant},
                        {"clusters", std::move(rows)},
                        {"agreement", share(agreeing, points.rows())},
                        {"picture", path},
                        {"seconds", {{"total", seconds}}}});
    return 0;
  }
  session.print(fmt::format(
      "{} handwritten digits of {} people, 8 x 8 pixels each, in {} clusters; the program did not know the digits.\n\n",
      grouped(points.rows()), 43, clusters));
  TextTable table({{"cluster"}, {"size"}, {"share"}, {"mostly the digit"}, {"agreement"}});
  for (const DemoGroup& group : groups)
    table.add({std::to_string(group.cluster), grouped(group.size),
               fmt::format("{:.1f} %", 100 * share(group.size, points.rows())), std::to_string(group.digit),
               fmt::format("{:.1f} %", 100 * share(group.agreeing, group.size))});
  session.print(table.text(session));
  session.print(fmt::format(
      "\nIn all, {:.1f} % of the digits are in a cluster of their kind; inertia {:.8g}, best of {} starts, {:.2g} "
      "s "
      "({}).\n"
      "The ten centroids as a picture: {}\n\n"
      "Next:\n"
      "  gradus kmeans YOUR.npy -k 16 -o clusters    cluster your own points (.npy, .csv, .png, .jpg)\n"
      "  gradus list kmeans                          the variants, from the textbook's loop to the fastest\n"
      "  gradus verify kmeans                        check each of them on this machine\n",
      100 * share(agreeing, points.rows()), result.inertia, options.restarts, seconds, result.report.variant, path));
  return 0;
}

}  // namespace

Action setup_demo(Options& options, Session& session) {
  auto directory = std::make_shared<std::string>("gradus-demo");
  options.file("-o,--output", *directory, "DIR", "write the picture centroids.png there [gradus-demo]");
  return [directory, &session] { return demo(*directory, session); };
}

}  // namespace gradus::cli
