import { parseArgs } from 'node:util'
import { KINDS, runMutations, SHARES, type MutationKind } from '../../support/bundle-mutation-run.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

/**
 * Runs many mutations of proof bundles: `npm run test:mutations -- --count 1000000 --seed 1`. A tenth of them are of
 * bundles with tokens. Prints the command that repeats a failure.
 */

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '50000' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string' },
  },
})
const [count, seed] = [Number(values.count), Number(values.seed)]
const kinds = (Object.keys(KINDS) as MutationKind[]).filter((kind) => values.kind === undefined || values.kind === kind)
const write = (text: string): void => void process.stdout.write(text)

const directory = await makeTemporary()
const startedAt = performance.now()
try {
  for (const kind of kinds) {
    const share = Math.round(count * (values.kind === undefined ? SHARES[kind] : 1))
    const onProgress = (done: number): void =>
      write(`\r${kind}: ${done} of ${share} (${Math.round((performance.now() - startedAt) / 1000)} s) `)
    await runMutations({ kind, count: share, seed, directory: `${directory}/${kind.replace(' ', '-')}`, onProgress })
    write(`\r${kind}: ${share} mutations, nothing new proven, none threw\n`)
  }
} catch (error) {
  write(`\nRepeat it with: npm run test:mutations -- --count ${count} --seed ${seed}\n`)
  throw error
} finally {
  await removeTemporary(directory)
}
