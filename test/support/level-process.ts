import { closeSync, openSync } from 'node:fs'
import { once } from 'node:events'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { isRegistryError } from '../../core/errors.ts'

/** A process of its own over a store: `process.ts MODE DIRECTORY`. What it says goes to stdout, a line each. */
const [mode = '', directory = ''] = process.argv.slice(2)
const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** Commits for ever, 32 in flight, each of two records and one or more log entries; says each that was acknowledged. */
async function write(): Promise<void> {
  const store = await openLevelRecords(directory)
  let next = 0
  const one = async (): Promise<void> => {
    const n = (next += 1)
    const count = (n % 5) + 1
    const append = new Uint8Array(count * 32).fill(n % 251)
    const value = Buffer.from(`${n}`)
    const result = await store.commit({
      writes: ['a', 'b'].map((side) => ({ key: `${side}/${n}`, value })),
      adds: [{ key: 'n', delta: count }],
      append,
    })
    if (result.ok) say(`${n} ${result.version} ${result.firstPosition} ${count}`)
    return one()
  }
  await Promise.all(Array.from({ length: 32 }, () => one()))
}

/** Opens, says `open` or the error's code and message, and closes when it is told to go on. */
async function open(): Promise<void> {
  try {
    const store = await openLevelRecords(directory)
    say('open')
    await once(process.stdin, 'data')
    await store.close()
  } catch (error) {
    say(isRegistryError(error) ? `${error.code} ${error.message}` : String(error))
  }
  process.stdin.destroy()
}

/** Opens with 0, 1, 2, … file descriptors left, and says each time what came of it. Wants a low `ulimit -n`. */
async function starve(): Promise<void> {
  // Once before, so that no module is still to be loaded.
  await (await openLevelRecords(directory)).close()
  for (let left = 0; left < 24; left += 1) {
    const taken = takeAll()
    for (const file of taken.splice(0, left)) closeSync(file)
    const outcome = await openLevelRecords(directory).then(
      async (store) => {
        await store.close()
        return 'open'
      },
      (error: unknown) => (isRegistryError(error) ? error.code : String(error)),
    )
    for (const file of taken) closeSync(file)
    say(`${left} ${outcome}`)
  }
}

function takeAll(): number[] {
  const taken: number[] = []
  for (;;) {
    try {
      taken.push(openSync('/dev/null', 'r'))
    } catch {
      return taken
    }
  }
}

if (mode === 'write') await write()
else if (mode === 'open') await open()
else await starve()
