#include "cli/life_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/stop.hpp"
#include "files/image.hpp"
#include "life/quadtree.hpp"

namespace gradus::cli {

namespace {

constexpr std::int64_t most_pixels_of_side = 512;

/// Returns the gray level of a pixel for `cells` cells, of which `alive` are alive. If no cell is alive, the pixel is
/// white. The more cells are alive, the darker the pixel. A single live cell is dark enough to be visible.
std::uint8_t gray(std::int64_t alive, std::int64_t cells) {
  constexpr std::int64_t white = 255;
  constexpr std::int64_t lightest = 160;
  return static_cast<std::uint8_t>(alive == 0 ? white : lightest - lightest * alive / cells);
}

}  // namespace

PagePicture picture_of(const LifePattern& pattern, const std::stop_token& stop) {
  PagePicture picture{.title = fmt::format("generation {}: ", pattern.generation), .png = {}};
  std::optional<LifeGrid> of_tree;
  LifeGridView cells = pattern.cells;
  if (pattern.tree) {
    const std::optional<life_detail::LifeBox> box = life_detail::bounding_box(*pattern.tree, pattern.left, pattern.top);
    if (!box || (box->height > 0 && box->width > files::most_pixels / box->height)) {
      picture.title += "the cells are too far apart for a picture";
      return picture;
    }
    cells = of_tree.emplace(life_detail::grid_of(*pattern.tree, *box, pattern.left, pattern.top, stop));
  }
  if (cells.width == 0 || cells.height == 0) {
    picture.title += "no live cell";
    return picture;
  }
  const std::int64_t side = (std::max(cells.width, cells.height) + most_pixels_of_side - 1) / most_pixels_of_side;
  picture.title += fmt::format("{} x {} cells", cells.width, cells.height);
  if (side > 1) picture.title += fmt::format(", {} x {} to a pixel", side, side);
  picture.width = (cells.width + side - 1) / side;
  picture.height = (cells.height + side - 1) / side;
  std::vector<std::uint8_t> pixels;
  for (std::int64_t top = 0; top < cells.height; top += side) {
    core::honour_stop(stop, "stopped while the page was made");
    const std::int64_t bottom = std::min(top + side, cells.height);
    for (std::int64_t left = 0; left < cells.width; left += side) {
      const std::int64_t right = std::min(left + side, cells.width);
      std::int64_t alive = 0;
      for (std::int64_t y = top; y < bottom; ++y)
        for (std::int64_t x = left; x < right; ++x) alive += cells(y, x) ? 1 : 0;
      pixels.push_back(gray(alive, (bottom - top) * (right - left)));
    }
  }
  picture.png = files::png_bytes("a page", {picture.width, picture.height, 1}, pixels, stop);
  return picture;
}

}  // namespace gradus::cli
