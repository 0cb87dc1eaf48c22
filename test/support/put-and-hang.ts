import { openLocalBlobs } from '../../adapters/files/index.ts'

/** The process of a crash test: puts a body whose first chunk is written and whose second never arrives. */
const [directory = ''] = process.argv.slice(2)

async function* hanging(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(65_536).fill(7)
  process.stdout.write('written\n')
  // Keeps the process alive until the test kills it.
  await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1))
}

const store = await openLocalBlobs(directory)
await store.put('half', hanging(), { maxBytes: 1_000_000 })
