# Writes what limits the process that runs it, in either version, into the file limits-$1: a line for each setting.
in_group() { sed -n "s/^[0-9]*:$1://p" /proc/self/cgroup; }
v1=/sys/fs/cgroup
v2=$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2 .*/\1/p' /proc/self/mountinfo | head -n 1)
m=$v1/memory$(in_group memory) c=$v1/cpu$(in_group cpu) b=$v1/blkio$(in_group blkio) u=$v2$(in_group '')
for file in $m/memory.limit_in_bytes $m/../memory.limit_in_bytes $c/cpu.shares $b/blkio.throttle.read_bps_device \
    $u/memory.max $u/../memory.max $u/cpu.weight $u/../io.max
do
    if [ -e $file ]; then echo "$(basename $file) $(cat $file)"; fi
done > limits-$1
