// Memory in large pages, if the system has them: for long arrays with random access.
//
// Such an access waits twice: for the location of the page, and for the data.  With pages of 2 MB
// instead of 4 kB, nearly all of the first waits are saved.  Linux provides them on request.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace arborand {
namespace ARBORAND_ISA {

// What std::vector allocates with.
template <class T>
struct LargePages {
    using value_type = T;

    LargePages() = default;
    template <class Other>
    LargePages(const LargePages<Other>&) {}  // what std::vector asks for

#if defined(__linux__)
    static constexpr std::size_t page = std::size_t{1} << 21;

    T* allocate(std::size_t count) {
        std::size_t bytes = count * sizeof(T);
        if (bytes < page) return static_cast<T*>(::operator new(bytes));
        bytes = (bytes + page - 1) / page * page;
        void* data = ::operator new(bytes, std::align_val_t{page});
        madvise(data, bytes, MADV_HUGEPAGE);  // only a hint: it may be refused
        return static_cast<T*>(data);
    }
    void deallocate(T* data, std::size_t count) {
        if (count * sizeof(T) < page) return ::operator delete(data);
        ::operator delete(data, std::align_val_t{page});
    }
#else
    T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T))); }
    void deallocate(T* data, std::size_t) { ::operator delete(data); }
#endif

    friend bool operator==(const LargePages&, const LargePages&) { return true; }
    friend bool operator!=(const LargePages&, const LargePages&) { return false; }
};

template <class T>
using LongArray = std::vector<T, LargePages<T>>;

}  // namespace ARBORAND_ISA
}  // namespace arborand
