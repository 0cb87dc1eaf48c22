import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { present } from '../../support/present.ts'
import { uiModule } from '../../support/ui-module.ts'
import { bundleVectors } from '../../vectors/bundle-vectors.ts'

interface Verifier {
  readonly verifyDocument: (
    request: {
      readonly text: string
      readonly policyText: string
      readonly files: readonly never[]
      readonly isPinned: boolean
    },
    onCheck: () => void,
  ) => Promise<{ readonly groups: readonly { readonly title: string; readonly facts: unknown[] }[] }>
}

describe('what the page says of a bundle', () => {
  it('names what a receipt states, by events', async () => {
    const { verifyDocument } = await uiModule<Verifier>('pages/verify-document.ts')
    const { bundle, policy } = present(bundleVectors()['receipt'])
    const request = { text: JSON.stringify(bundle), policyText: JSON.stringify(policy), isPinned: true, files: [] }
    const { title, facts } = present((await verifyDocument(request, () => {})).groups.at(-1))
    assert.match(title, /^Erased on .*2026/)
    assert.deepEqual(facts[0], ['Event 2', 'Owner'])
  })
})
