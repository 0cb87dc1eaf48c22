import { describe, it } from 'node:test'
import { runMutations, SHARES, type MutationKind } from '../../support/bundle-mutation-run.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

/**
 * 45,000 mutations of bundles without tokens and 5,000 of bundles with tokens in CI, a tenth of them elsewhere.
 * BUNDLE_MUTATIONS sets another number. `npm run test:mutations` runs any number.
 */
const { BUNDLE_MUTATIONS: mutations = '5000' } = process.env

describe('mutations of bundles', () => {
  const directory = temporaryOfSuite()

  for (const [kind, share] of Object.entries(SHARES) as [MutationKind, number][])
    it(`never prove anything new: ${kind}`, () => {
      const count = Math.round(Number(mutations) * share)
      return runMutations({ kind, count, seed: 1, directory: `${directory}/${kind.replace(' ', '-')}` })
    })
})
