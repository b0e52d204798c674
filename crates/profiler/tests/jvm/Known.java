// Does known amounts of known things, and says how much it has done whenever it is asked.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicLong;

public class Known {
    static final int ARRAY = 1000;
    static final int HEADER = 16;
    static final Object MONITOR = new Object();
    static final SynchronousQueue<Boolean> HELD = new SynchronousQueue<>();
    static final AtomicLong allocated = new AtomicLong();
    static final AtomicLong waits = new AtomicLong();
    static final AtomicLong waitedNanos = new AtomicLong();
    static final AtomicLong sleeps = new AtomicLong();
    static volatile long sink;
    static volatile Object kept;

    interface Step {
        void run() throws Exception;
    }

    static void twice() {
        work(400_000);
    }

    static void once() {
        work(200_000);
    }

    static void work(int rounds) {
        long value = 1;
        for (int i = 0; i < rounds; i++) {
            value = value * 31 + i;
        }
        sink = value;
    }

    static void allocate() throws Exception {
        for (int i = 0; i < 1000; i++) {
            kept = new byte[ARRAY];
        }
        allocated.addAndGet(1000);
        Thread.sleep(2);
        sleeps.incrementAndGet();
    }

    static void hold() throws Exception {
        synchronized (MONITOR) {
            HELD.put(true);
            long end = System.nanoTime() + 20_000_000;
            while (System.nanoTime() < end) {
                Thread.sleep(1);
                sleeps.incrementAndGet();
            }
        }
        HELD.put(true);
    }

    static void enter() throws Exception {
        HELD.take();
        long begin = System.nanoTime();
        synchronized (MONITOR) {
            waitedNanos.addAndGet(System.nanoTime() - begin);
            waits.incrementAndGet();
        }
        HELD.take();
    }

    static void start(String name, Step step) {
        Thread thread = new Thread(() -> {
            try {
                while (true) {
                    step.run();
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] arguments) throws Exception {
        FileChannel zeros = FileChannel.open(Path.of("/dev/zero"));
        ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
        start("spinner", () -> {
            twice();
            once();
        });
        start("reader", () -> {
            buffer.clear();
            zeros.read(buffer);
        });
        start("allocator", Known::allocate);
        start("holder", Known::hold);
        start("waiter", Known::enter);
        // What is compiled anew while somebody looks loses its name with its old code: until all this is
        // compiled for good, nobody is answered.
        Thread.sleep(3_000);
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        // Each line is a number of waits to wait for before the answer.
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            long until = waits.get() + Long.parseLong(line);
            while (waits.get() < until) {
                Thread.sleep(5);
                sleeps.incrementAndGet();
            }
            System.out.println(allocated.get() * (ARRAY + HEADER) + " " + allocated.get() + " " + waits.get()
                + " " + waitedNanos.get() + " " + sleeps.get());
        }
    }
}
