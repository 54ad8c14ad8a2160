#include "life/files/output.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

namespace {

constexpr std::size_t bytes_at_once = std::size_t{1} << 20;
/// Limit for writing the cells of a tree one by one: 1.5 GiB of blocks.
constexpr std::size_t most_blocks = std::size_t{1} << 26;

}  // namespace

// ---- Text ----

struct TextOutput::Packing {
  explicit Packing(const std::string& path) {
    constexpr int gzip_alone = 15 + 16;
    constexpr int usual_memory = 8;
    if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_alone, usual_memory, Z_DEFAULT_STRATEGY) !=
        Z_OK)
      throw OutOfMemoryError("cannot write '" + path + "': out of memory");
  }
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;
  ~Packing() { ::deflateEnd(&stream); }

  z_stream stream{};
};

TextOutput::TextOutput(core::AtomicFile& file, bool packed) : target_{file.path(), file.stop()}, file_(&file) {
  if (packed) packing_ = std::make_unique<Packing>(file.path());
}

TextOutput::TextOutput(std::string& memory, LifeTarget target) : target_(std::move(target)), memory_(&memory) {}

TextOutput::~TextOutput() = default;

void TextOutput::write(std::string_view text) {
  text_ += text;
  if (text_.size() >= bytes_at_once) flush(false);
}

void TextOutput::flush(bool last) {
  core::honour_stop(target_.stop, "stopped while writing a pattern");
  if (!packing_) {
    if (file_) file_->write(text_);
    else *memory_ += text_;
    text_.clear();
    return;
  }
  z_stream& stream = packing_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(text_.data());
  stream.avail_in = static_cast<uInt>(text_.size());
  std::string packed(bytes_at_once / 4, '\0');
  do {
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    file_->write(std::string_view(packed).substr(0, packed.size() - stream.avail_out));
  } while (stream.avail_out == 0);
  text_.clear();
}

void TextOutput::finish() { flush(true); }

std::string rule_text(const LifePattern& pattern) {
  std::string text = to_string(pattern.rule.value_or(LifeRule{}));
  if (pattern.boundary && *pattern.boundary != LifeBoundary::plane)
    text += (*pattern.boundary == LifeBoundary::torus ? ":T" : ":P") + std::to_string(pattern.width) + "," +
            std::to_string(pattern.height);
  return text;
}

void write_comments(TextOutput& output, const LifePattern& pattern, std::string_view mark) {
  for (const std::string& comment : pattern.comments) {
    if (comment.find_first_of("\r\n") != std::string::npos) continue;
    const std::string_view text = std::string_view(comment).substr(std::min<std::size_t>(1, comment.size()));
    // Without "C ", the line would be read as a rule, a place or a generation.
    const bool means_more = !text.empty() && (std::string_view("RrPG").find(text.front()) != std::string_view::npos ||
                                              text.starts_with("CXRLE"));
    output.write(mark);
    if (mark == "#" && means_more) output.write("C ");
    output.write(text);
    output.write("\n");
  }
}

// ---- Runs ----

LifeRuns::LifeRuns(const LifePattern& pattern, const LifeTarget& target) : pattern_(pattern), target_(target) {
  if (!pattern.tree) {
    find_box_of_grid();
    return;
  }
  const auto refuse = [&](const char* why) {
    throw Error("cannot write '" + target.name + "': " + why + "; Macrocell (.mc) can hold them");
  };
  const std::optional<life_detail::LifeBox> box = life_detail::bounding_box(*pattern.tree, pattern.left, pattern.top);
  if (!box) refuse("the live cells are further apart than 2^62");
  std::optional<std::vector<life_detail::LifeBlock>> blocks =
      life_detail::blocks_of(*pattern.tree, most_blocks, target.stop);
  if (!blocks) refuse("there are too many live cells");
  box_ = *box;
  blocks_ = std::move(*blocks);
}

void LifeRuns::find_box_of_grid() {
  const LifeGridView& cells = pattern_.cells;
  std::int64_t left = cells.width;
  std::int64_t right = 0;
  std::int64_t top = cells.height;
  std::int64_t bottom = 0;
  for (std::int64_t y = 0; y < cells.height; ++y) {
    if (y % 64 == 0) core::honour_stop(target_.stop, stopped);
    const std::uint64_t* const row = cells.row(y);
    std::int64_t first = 0;
    std::int64_t last = cells.row_words();
    while (first < last && row[first] == 0) ++first;
    if (first == last) continue;
    while (row[last - 1] == 0) --last;
    left = std::min(left, first * 64 + std::countr_zero(row[first]));
    right = std::max(right, last * 64 - std::countl_zero(row[last - 1]));
    top = std::min(top, y);
    bottom = y + 1;
  }
  if (bottom > 0) box_ = {pattern_.left + left, pattern_.top + top, right - left, bottom - top};
}

}  // namespace gradus::files
