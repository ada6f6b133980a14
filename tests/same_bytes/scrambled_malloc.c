/* malloc with other addresses, to be preloaded: what depends on their order, on memory that nobody wrote, or on memory
 * after its end comes out differently under the ways that SCRAMBLE names:
 *
 *     up      each block above all earlier ones; memory is never used twice
 *     down    each block below all earlier ones; never twice either
 *     last    what was freed last is given out first
 *     N       a block at random among many, also among those that were freed; N is the seed
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kClasses = 28, kSmallest = 5, kHeader = 16, kSlots = 256 };

struct free_list {
    char **slots;
    size_t count, room;
};

/* Before each block: its class, or the length of its own mapping and where that begins. */
struct header {
    uint32_t class;
    uint32_t before;
    uint64_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct free_list lists[kClasses];
static char *arena_begin, *arena_end;
static uint64_t state;
static enum { kUnset, kUp, kDown, kLast, kRandom } way;

static void choose_way(void) {
    const char *text = getenv("SCRAMBLE");
    if (text == NULL || strcmp(text, "up") == 0)
        way = kUp;
    else if (strcmp(text, "down") == 0)
        way = kDown;
    else if (strcmp(text, "last") == 0)
        way = kLast;
    else
        way = kRandom, state = strtoull(text, NULL, 10) * 2 + 1;
    /* Address space; memory is used as far as it is touched. */
    const size_t bytes = (size_t)1 << 36;
    arena_begin = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena_begin == MAP_FAILED) abort();
    arena_end = arena_begin + bytes;
}

static uint64_t next_random(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

static char *from_arena(size_t bytes) {
    if ((size_t)(arena_end - arena_begin) < bytes) return NULL;
    if (way == kDown) return arena_end -= bytes;
    char *result = arena_begin;
    arena_begin += bytes;
    return result;
}

static void push(struct free_list *list, char *slot) {
    if (list->count == list->room) {
        const size_t room = list->room == 0 ? 1024 : 2 * list->room;
        char **slots = mmap(NULL, room * sizeof *slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (slots == MAP_FAILED) abort();
        if (list->count > 0) {
            memcpy(slots, list->slots, list->count * sizeof *slots);
            munmap(list->slots, list->room * sizeof *slots);
        }
        list->slots = slots;
        list->room = room;
    }
    list->slots[list->count++] = slot;
}

static char *take(unsigned class) {
    struct free_list *list = &lists[class];
    const size_t bytes = (size_t)1 << (class + kSmallest);
    if (way == kUp || way == kDown || (way == kLast && list->count == 0)) return from_arena(bytes);
    if (way == kRandom && list->count < kSlots) {
        const size_t more = bytes > 65536 ? 1 : kSlots;
        for (size_t i = 0; i < more; ++i) {
            char *slot = from_arena(bytes);
            if (slot == NULL) return NULL;
            push(list, slot);
        }
    }
    const size_t at = way == kRandom ? next_random() % list->count : list->count - 1;
    char *slot = list->slots[at];
    list->slots[at] = list->slots[--list->count];
    return slot;
}

void *memalign(size_t alignment, size_t bytes) {
    const size_t slack = alignment > kHeader ? alignment : 0, all = bytes + slack + kHeader;
    unsigned class = 0;
    while (class < kClasses && ((size_t)1 << (class + kSmallest)) < all) ++class;
    if (all < bytes || class == kClasses) {
        errno = ENOMEM;
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (way == kUnset) choose_way();
    char *slot = take(class);
    pthread_mutex_unlock(&lock);
    if (slot == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    char *block = slot + kHeader;
    if (slack > 0) block = (char *)(((uintptr_t)block + alignment - 1) / alignment * alignment);
    struct header *header = (struct header *)block - 1;
    header->class = class;
    header->before = (uint32_t)(block - slot);
    header->bytes = bytes;
    memset(block, way == kDown ? 0x55 : 0xaa, bytes < 4096 ? bytes : 4096);
    return block;
}

void *malloc(size_t bytes) { return memalign(kHeader, bytes); }

void free(void *block) {
    if (block == NULL) return;
    const struct header *header = (struct header *)block - 1;
    const unsigned class = header->class;
    char *slot = (char *)block - header->before;
    memset(block, 0xdd, header->bytes < 4096 ? header->bytes : 4096);
    if (way == kUp || way == kDown) return;
    pthread_mutex_lock(&lock);
    push(&lists[class], slot);
    pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = malloc(bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}

void *realloc(void *block, size_t bytes) {
    if (block == NULL) return malloc(bytes);
    const size_t had = ((struct header *)block - 1)->bytes;
    void *other = malloc(bytes);
    if (other == NULL) return NULL;
    memcpy(other, block, had < bytes ? had : bytes);
    free(block);
    return other;
}

void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
void *valloc(size_t bytes) { return memalign(4096, bytes); }
int posix_memalign(void **result, size_t alignment, size_t bytes) {
    *result = memalign(alignment, bytes);
    return *result == NULL ? ENOMEM : 0;
}
size_t malloc_usable_size(void *block) { return block == NULL ? 0 : ((struct header *)block - 1)->bytes; }
