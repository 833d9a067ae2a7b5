// The part of XLA's foreign function interface that handlers on the CPU need, written down here so
// that nothing of jaxlib is needed to build.
//
// It is a C ABI.  These are the layouts of its version 0.1, which all versions 0.x keep: later ones
// only append fields.  XLA loads handlers that declare a version no higher than its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arborand {
namespace xla {

constexpr int major_version = 0, minor_version = 1;

struct Extension {
    std::size_t struct_size;
    int type;
    Extension* next;
};
constexpr int metadata_type = 1;

struct Version {
    std::size_t struct_size;
    Extension* extension;
    int major, minor;
};
struct Metadata {
    std::size_t struct_size;
    Version version;
    std::uint32_t traits;
};
struct MetadataExtension {
    Extension base;
    Metadata* metadata;
};

struct Error;
// Those of absl::StatusCode.
enum class ErrorCode : int { invalid_argument = 3, resource_exhausted = 8, internal = 13 };
struct ErrorArguments {
    std::size_t struct_size;
    Extension* extension;
    const char* message;
    ErrorCode code;
};
struct Api {
    std::size_t struct_size;
    Extension* extension;
    Version version;
    void* internal;
    Error* (*create_error)(ErrorArguments*);
};

enum class Type : int {
    boolean = 1,
    int32 = 4,
    int64 = 5,
    uint32 = 8,
    float32 = 11,
    float64 = 12,
};
struct Buffer {
    std::size_t struct_size;
    Extension* extension;
    Type type;
    void* data;
    std::int64_t rank;
    std::int64_t* dimensions;
};
struct Buffers {  // the arguments of a call, or its results
    std::size_t struct_size;
    Extension* extension;
    std::int64_t size;
    int* types;
    Buffer** buffers;
};

struct Characters {
    const char* begin;
    std::size_t size;
};
struct Scalar {
    Type type;
    const void* value;
};
enum class AttributeType : int { array = 1, dictionary, scalar, string };
struct Attributes {
    std::size_t struct_size;
    Extension* extension;
    std::int64_t size;
    AttributeType* types;
    Characters** names;
    void** values;  // Scalar* or Characters*, among others
};

enum class Stage : int { instantiate, prepare, initialize, execute };
struct CallFrame {
    std::size_t struct_size;
    Extension* extension;
    const Api* api;
    void* context;
    Stage stage;
    Buffers arguments, results;
    Attributes attributes;
};

}  // namespace xla
}  // namespace arborand
