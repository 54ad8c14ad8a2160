#include "bench/points.hpp"

#include <array>
#include <string_view>

#include "core/generate.hpp"
#include "core/names.hpp"
#include "cpu/threads.hpp"

namespace gradus::bench {

namespace {

constexpr std::array generators = {core::Generator::uniform, core::Generator::blobs, core::Generator::lab_points,
                                   core::Generator::lab_atoms};

template <class T>
io::Points generate(const core::PointSpecification& specification, const PointSet& set, const std::stop_token& stop) {
  Matrix<T> points(set.rows, set.columns);
  core::generate_points<T>(specification, 0, points.view(), cpu::thread_count({}), stop);
  io::Points made;
  made.values = io::own(std::move(points));
  return made;
}

}  // namespace

core::Generator generator_called(std::string_view name) {
  const std::string wanted = core::with_underscores(name);
  std::vector<std::string_view> names;
  for (const core::Generator generator : generators) {
    names.push_back(core::to_string(generator));
    if (core::with_underscores(names.back()) == wanted) return generator;
  }
  throw UsageError("there is no generator of points called '" + std::string(name) + "'" +
                   core::did_you_mean(name, names) + "; there are uniform, blobs, lab-points and lab-atoms");
}

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const core::Generator generator : generators) names.emplace_back(core::to_string(generator));
  return names;
}

io::Points make_points(const PointSet& set, io::ElementType type, io::ReadOptions reading) {
  if (set.generator.empty()) {
    reading.type = type;
    return io::read_points(set.file, reading);
  }
  if (set.rows < 1 || set.columns < 1)
    throw UsageError("points of " + std::to_string(set.rows) + " x " + std::to_string(set.columns) +
                     " cannot be made; at least 1 x 1 is needed");
  core::PointSpecification specification;
  specification.kind = generator_called(set.generator);
  return type == io::ElementType::f32 ? generate<float>(specification, set, reading.stop)
                                      : generate<double>(specification, set, reading.stop);
}

}  // namespace gradus::bench
