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
    problems: { proof: 'This is not a proof: it is not text in UTF-8: download it again' },
  })
  assert.equal(await read('a.json', latin1.slice(-9)), '')
  assert.equal(await read('a.txt', 'a text'), '')
})

it('what was saved in place of a proof is named, and a content is not', async () => {
  const { readDocument, whyNoProof } = await uiModule<{
    readDocument: (file: File) => Promise<string>
    whyNoProof: (file: File, text: string) => Promise<string | undefined>
  }>('pages/read-text.ts')
  const why = async (name: string, content: string | Uint8Array): Promise<string | undefined> => {
    const file = new File([content], name)
    return whyNoProof(file, await readDocument(file))
  }
  const error = '{"error":"There is no such evidence","code":"EVIDENCE_NOT_FOUND"}'
  for (const [name, content, said] of [
    ['a.json', '', /^it is empty/],
    ['a.txt', '', /^it is empty/],
    ['a.json', error, /^it is an error of the server: There is no such evidence \(EVIDENCE_NOT_FOUND\)$/],
    ['a', error, /^it is an error of the server/],
    ['a.evidence.json', '\n<!doctype HTML><html>', /^it is a web page/],
    ['a.json', Buffer.from('\uFEFF{"format":"evidence-registry.bundle"}', 'utf16le'), /perhaps in UTF-16/],
    ['a.json', 'HTTP/1.1 200 OK\r\n\r\n{}', /^it begins with the headers/],
    ['a.json', 'not JSON', /^it is not JSON/],
    ['a.json', '[ {"format":"evidence-registry.bundle"} ]', /^it is a list: save each proof in a file of its own$/],
    ['a.json', '"{}"', /^it is JSON, but not an object/],
    ['a.json', '{"keys":[]}', /^it is not a proof bundle/],
  ] as const)
    assert.match((await why(name, content)) ?? '', said)
  for (const [name, content] of [
    ['a.txt', 'a text'],
    ['a.png', '\0'],
    ['a.txt', '{"a":1}'],
  ] as const)
    assert.equal(await why(name, content), undefined)
})
