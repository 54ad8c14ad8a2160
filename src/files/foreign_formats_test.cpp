// Tests that every reader recognises each unsupported format, whatever the name of the file is.
#include "files/foreign_formats.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "files/npy.hpp"
#include "files/points.hpp"
#include "gradus/error.hpp"
#include "life/files/pattern.hpp"
#include "pair_histogram/files/trajectory.hpp"
#include "shortest_paths/files/graph.hpp"

namespace gradus::files {
namespace {

using namespace std::string_literals;

/// Returns the beginning of a ZIP archive whose files have these names.
std::string zip(std::initializer_list<std::string> names) {
  std::string bytes;
  for (const std::string& name : names) bytes += "PK\x03\x04"s + std::string(22, '\0') + name;
  return bytes + "PK\x01\x02";
}
const std::string hdf5 = "\x89HDF\r\n\x1a\n\0\0\0\0"s;

/// Small sample contents. The key is the name of the format. A format without a sample is recognised only by its file
/// names.
const std::multimap<std::string_view, std::string> samples = {
    {"a Git LFS pointer, which stands for a file that was not fetched",
     "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"},
    {"a web page (HTML)", "\n<!DOCTYPE html>\n<html><body>log in</body></html>\n"},
    {"a web page (HTML)", "<HTML>\n"},
    {"a PDF document", "%PDF-1.7\n1 2 3\n"},
    {"text in UTF-16",
     "\xff\xfe"
     "1\0,\0002\0\n\0"s},
    {"text in UTF-16", "\xfe\xff\0001\0,\0002\0\n"s},
    {"a Parquet file", "PAR1\x15\x04\x15\x10PAR1"},
    {"a Feather or Arrow file", "ARROW1\0\0\xff\xff"s},
    {"an ORC file", "ORC\x12\x0a"},
    {"an Avro file", "Obj\x01\x04\x16"},
    {"an Excel workbook", zip({"[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"})},
    {"an OpenDocument spreadsheet", zip({"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "content.xml"})},
    {"an Excel workbook of the old format", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0"s},
    {"a Stata file", "<stata_dta><header><release>118</release>"},
    {"an SPSS file", "$FL2@(#) SPSS DATA FILE"},
    {"an SQLite database", "SQLite format 3\0\x10\0"s},
    {"JSON, a line for each row", "{\"x\": 1}\n{\"x\": 2}\n"},
    {"JSON", "{\"x\": [1, 2]}"},
    {"JSON", "[[1, 2], [3, 4]]\n"},
    {"JSON", "[\n  {\"x\": 1}\n]\n"},
    {"a sparse matrix, as scipy.sparse.save_npz writes it",
     zip({"indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy"})},
    {"a model or tensor of PyTorch", zip({"archive/data.pkl", "archive/data/0"})},
    {"a pickle of Python", "\x80\x04\x95\x10"},
    {"a MATLAB file of version 7.3", "MATLAB 7.3 MAT-file, Platform: GLNXA64"},
    {"a MATLAB file", "MATLAB 5.0 MAT-file, Platform: GLNXA64"},
    {"a FITS file", "SIMPLE  =                    T / conforms to FITS standard"},
    {"a LAS or LAZ point cloud", "LASF\0\0"s},
    {"a PLY model", "ply\nformat ascii 1.0\nelement vertex 1\nend_header\n1 2 3\n"},
    {"a PCD point cloud", "# .PCD v0.7\nFIELDS x y z\nDATA ascii\n1 2 3\n"},
    {"a picture, neither PNG nor JPEG", "GIF89a\x01\0"s},
    {"a picture, neither PNG nor JPEG", "II*\0\x08\0"s},
    {"a picture, neither PNG nor JPEG", "BM\x36\0\0\0\0\0\0\0\x36\0\0\0"s},
    {"a picture, neither PNG nor JPEG", "RIFF\x24\0\0\0WEBPVP8 "s},
    {"a picture, neither PNG nor JPEG",
     "\0\0\0\x18"
     "ftypheic"s},
    {"a GraphML file", "<?xml version='1.0'?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"},
    {"a GEXF file", "<?xml version='1.0'?>\n<gexf version=\"1.2\">\n"},
    {"a GML file", "# made by hand\ngraph [\n  node [ id 1 ]\n]\n"},
    {"a GML file", "Creator \"igraph\"\nVersion 1\ngraph\n[\n]\n"},
    {"a Pajek file", "*Vertices 2\n1 \"a\"\n2 \"b\"\n*Arcs\n1 2 3\n"},
    {"a Pajek file", "% comment\n*Network\n*Vertices 2\n"},
    {"a DOT file (Graphviz)", "digraph G {\n  a -> b;\n}\n"},
    {"a DOT file (Graphviz)", "strict graph{\n}\n"},
    {"an OpenStreetMap extract", "<?xml version='1.0'?>\n<osm version=\"0.6\">\n"},
    {"a Gromacs trajectory (XTC)", "\0\0\x07\xcb\0\0\0\x03"s},
    {"a Gromacs trajectory (TRR)", "\0\0\x07\xc9\0\0\0\x0d"s},
    {"a trajectory of AMBER, or another NetCDF file", "CDF\x01\0\0"s},
    {"a trajectory of AMBER, or another NetCDF file", "CDF\x02\0\0"s},
    {"a GSD file of HOOMD", "\xdf\x65\xdf\x65\xdf\x65\xdf\x65\0\0"s},
    {"a trajectory of ASE", "- of UlmASE-Trajectory"},
    {"a PDB file", "ATOM      1  N   ALA A   1      11.104   6.134  -6.504  1.00  0.00           N\n"},
    {"a PDB file",
     "CRYST1   10.000   10.000   10.000  90.00  90.00  90.00 P 1\n"
     "HETATM    1  O   HOH A   1      11.104   6.134  -6.504\n"},
    {"a CIF file", "# from a database\ndata_quartz\n_cell_length_a 4.9\nloop_\n_atom_site_label\n"},
    {"a POSCAR file of VASP",
     "cubic BN\n3.57\n0.0 0.5 0.5\n0.5 0.0 0.5\n0.5 0.5 0.0\nB N\n1 1\nDirect\n0 0 0\n.25 .25 .25\n"},
    {"a LAMMPS data file", "LAMMPS data file\n\n2 atoms\n1 atom types\n\n0 9 xlo xhi\n0 9 ylo yhi\n0 9 zlo zhi\n"},
    {"XML", "<?xml version='1.0'?>\n<rows/>\n"},
    {"a tar archive", std::string(257, 'x') + "ustar  "},
    {"a ZIP archive", zip({"points.csv"})},
    {"a 7-Zip archive", "7z\xbc\xaf\x27\x1c"},
    {"an RAR archive", "Rar!\x1a\x07\x01"},
    {"a file that zstd has packed", "\x28\xb5\x2f\xfd\x04"},
    {"a file that xz has packed", "\xfd\x37zXZ\0"s},
    {"a file that bzip2 has packed", "BZh91AY&SY"},
    {"a file that lz4 has packed", "\x04\x22\x4d\x18\x64"},
};

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream words{std::string(text)};
  return {std::istream_iterator<std::string>(words), {}};
}

class ForeignFormats : public testing::Test {
 protected:
  ForeignFormats() { std::filesystem::create_directories(folder_); }
  ~ForeignFormats() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, std::string_view bytes) const {
    std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  static std::string refusal(Reader reader, const std::string& path) {
    try {
      switch (reader) {
        case Reader::points: read_points(path); break;
        case Reader::graph:
          if (path.ends_with(".npy")) read_npy_numbers(path);
          else read_graph(path);
          break;
        case Reader::frames: FrameReader(path, {}, false).next(); break;
        case Reader::pattern: read_life(path); break;
      }
    } catch (const InputError& error) {
      return error.what();
    } catch (const UnsupportedError& error) {
      return error.what();
    }
    return "read";
  }

  void expect_refused(Reader reader, const std::string& path, const ForeignFormat& row) const {
    SCOPED_TRACE(std::string(row.name) + " as " + path);
    const std::string message = refusal(reader, path);
    EXPECT_NE(message.find(std::string(row.name) + ", which is not read here; "), std::string::npos) << message;
    EXPECT_TRUE(message.find(row.remedy(path, reader)) != std::string::npos) << message;
    EXPECT_EQ(message.find('{'), message.find("{print")) << message;  // all placeholders are replaced
  }

  const std::string folder_ = testing::TempDir() + "gradus_foreign_" + std::to_string(::getpid());
};

/// Returns one file name for each format that the reader supports. For Reader::pattern, omits pictures, because this
/// reader rejects files that have the name of a picture.
std::vector<std::string> own_names(Reader reader) {
  std::vector<std::string> names;
  if (reader == Reader::pattern) {
    for (const LifeFormat* const format : life_formats())
      if (!format->is_picture) names.push_back("f" + words_of(format->file.endings).front());
  } else {
    for (const Format* const format : formats_for(reader)->rows())
      names.push_back("f" + words_of(format->endings).front());
  }
  if (reader == Reader::graph) names.emplace_back("f.npy");
  return names;
}

TEST_F(ForeignFormats, EachContentIsKnownToEveryReaderUnderAnyName) {
  for (const ForeignFormat& row : foreign_formats()) {
    const auto [first, last] = samples.equal_range(row.name);
    const bool has_content = !row.begins.empty() || row.recognises != nullptr;
    const bool is_special = row.begins.starts_with("\x89HDF");
    const bool is_gzip = row.name.find("gzip") != std::string_view::npos || row.name.find("an R ") == 0 ||
                         row.name == "a pattern of MCell";
    if (has_content && !is_special && !is_gzip && row.readers == 0)
      EXPECT_NE(first, last) << row.name << " has no sample";
    for (auto sample = first; sample != last; ++sample) {
      if (!row.has_content(sample->second)) continue;  // the sample is for another row with the same name
      for (const Reader reader : all_readers) {
        if ((row.readers & Remedy::bit(reader)) != 0 && row.remedy("f", reader).empty())
          continue;  // the reader reads it
        expect_refused(reader, file("anything", sample->second), row);
        for (const std::string& name : own_names(reader)) expect_refused(reader, file(name, sample->second), row);
      }
    }
  }
}

TEST_F(ForeignFormats, EachNameIsKnownToEveryReaderThatDoesNotTakeIt) {
  for (const ForeignFormat& row : foreign_formats()) {
    std::string_view words = row.endings;
    while (!words.empty()) {
      const std::string word(words.substr(0, words.find(' ')));
      words.remove_prefix(std::min(word.size() + 1, words.size()));
      for (const Reader reader : all_readers) {
        if ((row.readers & Remedy::bit(reader)) != 0) continue;
        const std::string path = file(word.starts_with('.') ? "x" + word : word, "?");
        SCOPED_TRACE(path);
        const std::string message = refusal(reader, path);
        const bool is_trajectory = (row.readers & Remedy::bit(Reader::frames)) != 0;  // points are read from a frame
        const bool names_it = message.find("has the name of " + std::string(row.name)) != std::string::npos;
        EXPECT_TRUE(names_it || (is_trajectory && message.find("the frames of a trajectory") != std::string::npos))
            << message;
      }
    }
  }
}

TEST_F(ForeignFormats, OneContentIsOneRow) {
  for (const auto& [name, sample] : samples) {
    const ForeignFormat* const row = foreign_format(sample, "");
    ASSERT_NE(row, nullptr) << name;
    EXPECT_EQ(row->name, name);
  }
  EXPECT_EQ(foreign_format(hdf5, "a.bin")->name, "an HDF5 file");
  EXPECT_EQ(foreign_format(hdf5, "a.h5ad")->name, "an AnnData file (HDF5)");
  EXPECT_EQ(foreign_format(hdf5, "dir.h5md/a.h5md")->name, "an H5MD trajectory (HDF5)");
}

TEST_F(ForeignFormats, WhatLooksAlikeIsRead) {
  for (const std::string text :
       {"PAR1,BZh\n1,2\n", "graph,value\n1,2\n", "data_x,data_y\n1,2\n", "BM,x\n1,2\n", "HEADER,TITLE\n1,2\n",
        "ATOM,HETATM\n1,2\n", "# .npy\n1,2\n", "version,https\n1,2\n", "Creator,graph\n1,2\n"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(read_points(file("t.csv", text)).rows(), 1);
  }
  for (const std::string text : {"graph network\n", "Creator graph\n", "{a} {b}\n", "*a *b\n", "digraph strict\n"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(read_graph(file("g.edges", text)).vertices, 2);
  }
  EXPECT_EQ(foreign_format("3\n1.5\nO 0 0 0\nH 0 0 1\nH 0 1 0\n", "w.xyz"), nullptr);
}

TEST_F(ForeignFormats, CommandsReadBeforeTheyOpenTheirOutput) {
  for (const ForeignFormat& row : foreign_formats())
    for (const Remedy& remedy : row.remedies) {
      const std::string text = remedy.in_full();
      const std::size_t output = text.find("open('{out}");
      EXPECT_TRUE(output == std::string::npos || text.rfind("{in}") < output) << row.name << ": " << text;
    }
}

TEST_F(ForeignFormats, RemediesAreReadyToBeCopied) {
  const auto remedy = [](std::string_view bytes, const std::string& path, Reader reader) {
    return foreign_format(bytes, path)->remedy(path, reader);
  };
  EXPECT_EQ(remedy("PAR1\x15", "dir/a.b.parquet", Reader::points),
            "convert it, for example: python3 -c \"import pandas; "
            "pandas.read_parquet('dir/a.b.parquet').to_csv('dir/a.b.csv', "
            "index=False)\"");
  // Commands do not contain a name that a shell or Python would interpret.
  for (const std::string name : {"it's.parquet", "a b.parquet", "$(x).parquet", "-x.parquet", "standard input"}) {
    const std::string text = remedy("PAR1\x15", name, Reader::points);
    EXPECT_NE(text.find("read_parquet('FILE')"), std::string::npos) << text;
  }
  EXPECT_EQ(remedy("\xff\xfe", "t.csv", Reader::points),
            "convert it, for example: iconv -f UTF-16 -t UTF-8 t.csv > t-converted.csv");
  EXPECT_EQ(
      remedy("graph [", "g.gml.gz", Reader::graph).find("convert it, for example: gunzip -k g.gml.gz && python3 -c"),
      0);
  EXPECT_TRUE(remedy("digraph {", "g.dot", Reader::graph).ends_with("; this needs pydot)"));
  EXPECT_EQ(remedy("\x1f\x8b", "a.npy.gz", Reader::points), "unpack it: gunzip -k a.npy.gz");
  EXPECT_EQ(remedy("\x1f\x8b", "a.rds", Reader::points).find("convert it, for example: Rscript"), 0);
}

}  // namespace
}  // namespace gradus::files
