// Pictures of some generations of a pattern: an animated GIF, and one PGM file per picture.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/life_steps.hpp"
#include "core/atomic_file.hpp"
#include "files/gif.hpp"
#include "life/quadtree.hpp"

namespace gradus::cli {

/// Writes the frames. All frames have the same size. A frame shows the bounded world or, on the plane, the smallest box
/// that contains all live cells of all frames. Cells are black on white.
class LifeFrames {
 public:
  struct Request {
    std::string gif;
    std::string folder;  ///< folder for the PGMs; each is named after its generation; may be empty
    std::int64_t scale = 1;
    std::int64_t milliseconds = 100;
  };
  /// Throws Error if an output cannot be written.
  LifeFrames(Request request, const Execution& execution);
  LifeFrames(const LifeFrames&) = delete;
  LifeFrames& operator=(const LifeFrames&) = delete;
  /// If the run is unfinished, removes its frames and folders.
  ~LifeFrames();

  /// Prepares the first frame. `last` is the highest generation of the run.
  void begin(const LifeOptions& options, const LifeSize& size, std::uint64_t last);
  /// Throws Error if the cells are too far apart for a picture.
  void add(const LifePattern& pattern);
  /// Publishes the GIF and keeps the PGMs. Each PGM was published as soon as it was complete.
  void finish();

  std::int64_t count() const { return count_; }

 private:
  struct Frame {
    std::uint64_t generation = 0;
    std::int64_t left = 0;
    std::int64_t top = 0;
    LifeGrid cells;
  };
  Frame frame_of(const LifePattern& pattern) const;
  void find_window();
  void show(const Frame& frame);
  void add_to_gif(const Frame& frame);
  void make_folder();
  void remove_made();
  void write_to_folder(const Frame& frame);

  Request request_;
  const Execution& execution_;
  std::optional<life_detail::LifeBox> window_;
  std::optional<core::AtomicFile> gif_file_;
  std::optional<files::GifWriter> gif_;
  std::vector<Frame> frames_;      ///< frames that wait until the size of the window is known
  std::vector<std::string> made_;  ///< folders and PGMs of the unfinished run, in the order of their creation
  std::uint64_t bytes_ = 0;
  std::uint64_t last_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace gradus::cli
