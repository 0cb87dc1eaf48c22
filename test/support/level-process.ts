import { closeSync, openSync } from 'node:fs'
import { once } from 'node:events'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { isRegistryError } from '../../core/errors.ts'

/**
 * A separate process with a store, for crash tests: `level-process.ts MODE DIRECTORY`. It reports on stdout, a line
 * each.
 */
const [mode = '', directory = ''] = process.argv.slice(2)
const report = (line: string): void => void process.stdout.write(`${line}\n`)

/** Opens the store, reports `open` or the code and message of the error, and closes it after a line on stdin. */
async function open(): Promise<void> {
  try {
    const store = await openLevelRecords(directory)
    report('open')
    await once(process.stdin, 'data')
    await store.close()
  } catch (error) {
    report(isRegistryError(error) ? `${error.code} ${error.message}` : String(error))
  }
  process.stdin.destroy()
}

/** Opens the store with 0, 1, 2, … file descriptors left, and reports each outcome. Needs a low `ulimit -n`. */
async function starve(): Promise<void> {
  // Opened once before, so that all modules are loaded.
  await (await openLevelRecords(directory)).close()
  for (let left = 0; left < 24; left += 1) {
    const held = holdAll()
    for (const file of held.splice(0, left)) closeSync(file)
    const outcome = await openLevelRecords(directory).then(
      async (store) => {
        await store.close()
        return 'open'
      },
      (error: unknown) => (isRegistryError(error) ? error.code : String(error)),
    )
    for (const file of held) closeSync(file)
    report(`${left} ${outcome}`)
  }
}

function holdAll(): number[] {
  const held: number[] = []
  for (;;) {
    try {
      held.push(openSync('/dev/null', 'r'))
    } catch {
      return held
    }
  }
}

if (mode === 'open') await open()
else await starve()
