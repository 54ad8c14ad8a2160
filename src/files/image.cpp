#include "files/image.hpp"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE
#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include <jpeglib.h>

#include <jerror.h>

#include "core/stop.hpp"
#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "files/foreign_formats.hpp"
#include "files/points_format.hpp"

namespace gradus::files {
namespace {

// Both libraries are written in C and report errors by longjmp(), which must not skip destructors. Therefore, every
// call of a library is in a lambda whose objects have no destructors. guarded() sets the jump target and runs the
// lambda.

constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view jpeg_signature = "\xff\xd8\xff";

bool begins_with(std::span<const std::byte> bytes, std::string_view signature) {
  return bytes.size() >= signature.size() && std::memcmp(bytes.data(), signature.data(), signature.size()) == 0;
}

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
  throw InputError("'" + std::string(name) + "': " + what, fields_of_file(name));
}

/// Returns a text that states how far the library has read. The error is at this position or slightly before it.
std::string at_byte(std::size_t bytes_read) { return " (byte " + std::to_string(bytes_read) + ")"; }

void honour_stop(const std::stop_token& stop, std::string_view name) {
  core::honour_stop(stop, "stopped while reading '" + std::string(name) + "'");
}

void check_size(std::string_view name, std::int64_t width, std::int64_t height, std::int64_t pixel_limit) {
  // Both formats limit sides to 31 bits, so the product cannot overflow.
  if (width < 1 || height < 1 || width * height > pixel_limit)
    refuse(name, "a picture of " + std::to_string(width) + " x " + std::to_string(height) + " pixels; from 1 to " +
                     std::to_string(pixel_limit) + " can be read");
}

// ---- PNG ----

struct PngMessage {
  char text[200] = "";
};

[[noreturn]] void png_failed(png_structp png, png_const_charp message) {
  auto* const target = static_cast<PngMessage*>(png_get_error_ptr(png));
  std::snprintf(target->text, sizeof target->text, "%s", message);
  png_longjmp(png, 1);
}

void png_warned(png_structp, png_const_charp) {}

/// Runs `calls`, and returns false if the library reports an error.
template <class Calls>
bool guarded(png_structp png, Calls calls) {
  if (setjmp(png_jmpbuf(png))) return false;
  calls();
  return true;
}

class PngReader {
 public:
  PngReader(std::span<const std::byte> bytes, std::string_view name, const std::stop_token& stop)
      : rest_(bytes), size_(bytes.size()), name_(name), stop_(stop) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message_, png_failed, png_warned);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw OutOfMemoryError("cannot read a PNG: out of memory");
    }
    png_set_read_fn(png_, this, take);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Image read(std::int64_t pixel_limit) {
    png_uint_32 width = 0;
    png_uint_32 height = 0;
    std::size_t packed_row = 0;
    run([&] {
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check_size() sets the limit
      png_read_info(png_, info_);
      width = png_get_image_width(png_, info_);
      height = png_get_image_height(png_, info_);
      packed_row = png_get_rowbytes(png_, info_);
    });
    check_size(name_, width, height, pixel_limit);
    // Deflate compresses to 1/1032 at best. Before the allocation, rejects a small file that claims to be a huge image.
    if (packed_row * height / 1032 > size_)
      refuse(name_, "damaged PNG: " + std::to_string(size_) + " bytes cannot hold " + std::to_string(width) + " x " +
                        std::to_string(height) + " pixels");

    int channels = 0;
    int passes = 1;  // number of passes over the rows; more than one for an interlaced image
    run([&] {
      png_set_expand(png_);  // expands palettes, samples below eight bits, and a transparent colour
      png_set_scale_16(png_);
      passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      channels = png_get_channels(png_, info_);
    });
    Image image{{width, height, channels}, Buffer<std::uint8_t>(std::int64_t{width} * height * channels)};
    bool stopped = false;
    run([&] {
      for (int pass = 0; pass < passes && !stopped; ++pass)
        for (png_uint_32 row = 0; row < height && !stopped; ++row) {
          png_read_row(png_, image.pixels.data() + std::int64_t{row} * width * channels, nullptr);
          stopped = stop_.stop_requested();
        }
      if (!stopped) png_read_end(png_, nullptr);
    });
    honour_stop(stop_, name_);
    return image;
  }

 private:
  static void take(png_structp png, png_bytep to, std::size_t count) {
    auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self.rest_.size()) {
      self.rest_ = {};
      png_error(png, "the file is too short");
    }
    std::memcpy(to, self.rest_.data(), count);
    self.rest_ = self.rest_.subspan(count);
  }

  template <class Calls>
  void run(Calls calls) {
    if (!guarded(png_, calls))
      refuse(name_, "damaged PNG: " + std::string(message_.text) + at_byte(size_ - rest_.size()));
  }

  std::span<const std::byte> rest_;
  std::size_t size_;
  std::string_view name_;
  const std::stop_token& stop_;
  PngMessage message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

/// Removes the opacity channel if every pixel is opaque. Otherwise, if the image is grey with opacity, converts it to
/// colour with opacity.
Image without_idle_opacity(Image image, const std::stop_token& stop, std::string_view name) {
  const std::int64_t channels = image.shape.channels;
  if (channels == 1 || channels == 3) return image;
  const std::int64_t pixels = image.shape.width * image.shape.height;
  bool opaque = true;
  for (std::int64_t pixel = 0; pixel < pixels && opaque; ++pixel)
    opaque = image.pixels[pixel * channels + channels - 1] == 255;
  if (channels == 4 && !opaque) return image;
  const std::int64_t kept = opaque ? channels - 1 : 4;
  Image result{{image.shape.width, image.shape.height, kept}, Buffer<std::uint8_t>(pixels * kept)};
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    if (pixel % core::operations_between_polls == 0) honour_stop(stop, name);
    for (std::int64_t channel = 0; channel < kept; ++channel) {
      // Takes the channels 0, 0, 0 and 1 of grey with opacity.
      const std::int64_t from = opaque ? channel : channel / 3;
      result.pixels[pixel * kept + channel] = image.pixels[pixel * channels + from];
    }
  }
  return result;
}

// ---- JPEG ----

struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf place;
  char text[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void jpeg_failed(j_common_ptr jpeg) {
  auto* const errors = static_cast<JpegErrors*>(jpeg->err);
  errors->format_message(jpeg, errors->text);
  std::longjmp(errors->place, 1);
}

/// Treats missing data as an error. The library would only warn, and fill the gap with grey. Ignores harmless warnings.
void jpeg_warned(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_BOGUS_ICC: return;
    default: jpeg_failed(jpeg);
  }
}

void jpeg_silent(j_common_ptr) {}

struct JpegProgress : jpeg_progress_mgr {
  const std::stop_token* stop;
};

/// Limits the number of scans, because a progressive file may repeat scans of the whole image endlessly. The library
/// calls this function for every row of blocks. This includes the time before the first line, when the library reads
/// all scans.
void jpeg_scan_limit(j_common_ptr jpeg) {
  constexpr int most_scans = 500;
  if (static_cast<const JpegProgress*>(jpeg->progress)->stop->stop_requested())
    std::longjmp(static_cast<JpegErrors*>(jpeg->err)->place, 1);
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= most_scans) return;
  auto* const errors = static_cast<JpegErrors*>(jpeg->err);
  std::snprintf(errors->text, sizeof errors->text, "more than %d scans", most_scans);
  std::longjmp(errors->place, 1);
}

class JpegReader {
 public:
  JpegReader(std::span<const std::byte> bytes, std::string_view name, const std::stop_token& stop)
      : size_(bytes.size()), name_(name), stop_(stop) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = jpeg_failed;
    errors_.emit_message = jpeg_warned;
    errors_.output_message = jpeg_silent;
    progress_.progress_monitor = jpeg_scan_limit;
    progress_.stop = &stop_;
    run([&] {
      jpeg_create_decompress(&jpeg_);
      jpeg_.progress = &progress_;
      jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    });
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }

  Image read(std::int64_t pixel_limit) {
    run([&] { jpeg_read_header(&jpeg_, TRUE); });
    check_size(name_, jpeg_.image_width, jpeg_.image_height, pixel_limit);
    if (jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK)
      refuse(name_, "a JPEG in the colours of print (CMYK); save it in RGB");
    const bool gray = jpeg_.jpeg_color_space == JCS_GRAYSCALE;
    jpeg_.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
    const PictureShape shape{jpeg_.image_width, jpeg_.image_height, gray ? 1 : 3};
    Image image{shape, Buffer<std::uint8_t>(shape.width * shape.height * shape.channels)};
    run([&] {
      jpeg_start_decompress(&jpeg_);
      while (jpeg_.output_scanline < jpeg_.output_height) {
        JSAMPROW row = image.pixels.data() + std::int64_t{jpeg_.output_scanline} * shape.width * shape.channels;
        jpeg_read_scanlines(&jpeg_, &row, 1);
      }
      jpeg_finish_decompress(&jpeg_);
    });
    return image;
  }

 private:
  template <class Calls>
  void run(Calls calls) {
    if (guarded(calls)) return;
    honour_stop(stop_, name_);
    const std::size_t left = jpeg_.src ? std::min(jpeg_.src->bytes_in_buffer, size_) : 0;
    refuse(name_, "damaged JPEG: " + std::string(errors_.text) + at_byte(size_ - left));
  }

  template <class Calls>
  bool guarded(Calls& calls) {
    if (setjmp(errors_.place)) return false;
    calls();
    return true;
  }

  std::size_t size_;
  std::string_view name_;
  const std::stop_token& stop_;
  JpegErrors errors_{};
  JpegProgress progress_{};
  jpeg_decompress_struct jpeg_{};
};

}  // namespace

bool looks_like_image(std::span<const std::byte> bytes) {
  return begins_with(bytes, png_signature) || begins_with(bytes, jpeg_signature);
}

Image parse_image(std::span<const std::byte> bytes, std::string_view name, std::int64_t pixel_limit,
                  const std::stop_token& stop) {
  if (begins_with(bytes, png_signature))
    return without_idle_opacity(PngReader(bytes, name, stop).read(pixel_limit), stop, name);
  if (begins_with(bytes, jpeg_signature)) return JpegReader(bytes, name, stop).read(pixel_limit);
  refuse_foreign(as_text(bytes), std::string(name), Reader::points);
  refuse(name, "neither a PNG nor a JPEG: the first bytes say otherwise");
}

Image read_image(const std::string& path, const std::stop_token& stop) {
  const MappedFile file(path);
  return parse_image(file.bytes(), path, most_pixels, stop);
}

Points to_points(const Image& image, const std::stop_token& stop) {
  Matrix<float> points(image.shape.width * image.shape.height, image.shape.channels);
  for (std::int64_t index = 0; index < image.pixels.size(); ++index) {
    if (index % core::operations_between_polls == 0) honour_stop(stop, "the picture");
    points.data()[index] = static_cast<float>(image.pixels[index]);
  }
  return {.values = own(std::move(points)), .picture = image.shape, .column_names = {}};
}

namespace {

/// Passes the bytes of the file to `put`, piece by piece. Stops early after a stop request.
void encode_png(const std::string& name, const PictureShape& shape, std::span<const std::uint8_t> pixels,
                const std::stop_token& stop, const std::function<void(std::span<const std::byte>)>& put) {
  const auto colour_type = shape.channels == 1   ? PNG_COLOR_TYPE_GRAY
                           : shape.channels == 3 ? PNG_COLOR_TYPE_RGB
                                                 : PNG_COLOR_TYPE_RGB_ALPHA;
  if ((shape.channels != 1 && shape.channels != 3 && shape.channels != 4) || shape.width < 1 || shape.height < 1 ||
      shape.width > PNG_UINT_31_MAX || shape.height > PNG_UINT_31_MAX ||
      pixels.size() != static_cast<std::uint64_t>(shape.width) * static_cast<std::uint64_t>(shape.height) *
                           static_cast<std::uint64_t>(shape.channels))
    throw Error("cannot write '" + name + "': " + std::to_string(pixels.size()) + " bytes do not make a picture of " +
                std::to_string(shape.width) + " x " + std::to_string(shape.height) + " pixels with " +
                std::to_string(shape.channels) + " channels");

  // Stores an exception, because exceptions must not pass through the C library.
  struct Sink {
    const std::function<void(std::span<const std::byte>)>& put;
    std::exception_ptr failure;
    static void write(png_structp png, png_bytep data, std::size_t count) {
      auto& self = *static_cast<Sink*>(png_get_io_ptr(png));
      try {
        self.put(std::as_bytes(std::span(data, count)));
      } catch (...) {
        self.failure = std::current_exception();
      }
      if (self.failure) png_error(png, "cannot write");
    }
    static void flush(png_structp) {}
  };
  struct PngWriter {
    PngMessage message;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &message, png_failed, png_warned);
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    ~PngWriter() { png_destroy_write_struct(&png, &info); }
  };
  Sink sink{put, nullptr};
  PngWriter writer;
  if (!writer.info) throw OutOfMemoryError("cannot write '" + name + "': out of memory");
  const bool written = guarded(writer.png, [&] {
    png_set_user_limits(writer.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_write_fn(writer.png, &sink, Sink::write, Sink::flush);
    png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(shape.width), static_cast<png_uint_32>(shape.height),
                 8, colour_type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(writer.png, writer.info);
    for (std::int64_t row = 0; row < shape.height && !stop.stop_requested(); ++row)
      png_write_row(writer.png, pixels.data() + row * shape.width * shape.channels);
    if (!stop.stop_requested()) png_write_end(writer.png, nullptr);
  });
  if (stop.stop_requested()) return;
  if (sink.failure) std::rethrow_exception(sink.failure);
  if (!written) throw Error("cannot write '" + name + "': " + writer.message.text);
}

}  // namespace

void write_png(core::AtomicFile& file, const PictureShape& shape, std::span<const std::uint8_t> pixels) {
  encode_png(file.path(), shape, pixels, file.stop(), [&file](std::span<const std::byte> bytes) { file.write(bytes); });
  file.honour_stop();
}

std::vector<std::byte> png_bytes(std::string_view name, const PictureShape& shape, std::span<const std::uint8_t> pixels,
                                 const std::stop_token& stop) {
  std::vector<std::byte> all;
  encode_png(std::string(name), shape, pixels, stop,
             [&all](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  core::honour_stop(stop, "stopped while making a picture");
  return all;
}

extern constinit const PointsFormat image_points{
    .file = {.name = "picture",
             .endings = ".png .jpg .jpeg",
             .rules = "One point per pixel, row after row from the top; its coordinates are its channels, 0 to 255: "
                      "gray, or red, green and blue, with opacity as a fourth channel if any pixel is not opaque. 16 "
                      "bits are rounded to 8. No colour profile, gamma or orientation is applied. At most 2^28 pixels",
             .may_be_packed = false},
    .recognises = looks_like_image,
    .has_any_name = true,
    .read = [](const std::string& path,
               const ReadOptions& options) { return to_points(read_image(path, options.stop), options.stop); },
};

}  // namespace gradus::files
