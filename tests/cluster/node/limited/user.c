/* A program that would use NPUs: waits to be ended, or ends at once when it is given an argument. */
#include <unistd.h>

int main(int count, char **words)
{
    (void)words;
    while (count == 1)
        pause();
    return 0;
}
