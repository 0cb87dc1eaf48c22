import assert from 'node:assert/strict'
import { it } from 'node:test'
import { uiModule } from '../../support/ui-module.ts'

it('a dropped proof is read as UTF-8 and whatever its name, and a content is not', async () => {
  const { readDocument } = await uiModule<{ readDocument: (file: File) => Promise<string> }>('pages/read-text.ts')
  const proof = '{"format":"evidence-registry.bundle","name":"ä"}'
  const read = (name: string, content: string | Uint8Array): Promise<string> => readDocument(new File([content], name))
  for (const name of ['a.json', 'a.JSON', 'a.txt', 'a'])
    for (const text of [proof, `\uFEFF${proof}`]) assert.equal(await read(name, text), proof)
  const latin1 = new Uint8Array(Buffer.from(proof, 'latin1'))
  await assert.rejects(read('a.json', latin1), {
    field: 'proof',
    message: /^This is not a proof: it is not text in UTF-8/,
  })
  assert.equal(await read('a.json', latin1.slice(-9)), '')
  assert.equal(await read('a.txt', 'a text'), '')
})
