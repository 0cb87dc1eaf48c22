import { after, before, describe, it } from 'node:test'
import { runMutations, type MutationKind } from '../../support/bundle-mutation-run.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

/**
 * 45,000 mutations of bundles without tokens and 5,000 of bundles with tokens in CI, a tenth of them elsewhere.
 * `npm run test:mutations` runs any number.
 */
const SHARE = process.env['CI'] === undefined ? 0.1 : 1
const COUNTS: Readonly<Record<MutationKind, number>> = {
  'no anchor': 20_000,
  'local ledger': 18_000,
  'EVM chain': 7_000,
  tokens: 5_000,
}

describe('mutations of bundles', () => {
  let directory: string
  before(async () => {
    directory = await makeTemporary()
  })
  after(() => removeTemporary(directory))

  for (const [kind, count] of Object.entries(COUNTS) as [MutationKind, number][])
    it(`never prove anything new: ${kind}`, () =>
      runMutations({ kind, count: count * SHARE, seed: 1, directory: `${directory}/${kind.replace(' ', '-')}` }))
})
