import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CompanyRequests, of } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import { END, MULTIPART, part } from '../../support/raw-http.ts'
import type { CallOptions } from '../../support/service.ts'

const LAST_TEXT = 'last must be an integer of at least 0'

describe('texts of validation errors', () => {
  const acme = new CompanyRequests()

  const textOf = async (id: string, options: CallOptions): Promise<string> =>
    (await acme.fails(id, 400, 'VALIDATION_ERROR', options)).body.error

  it('reject a `last` of the audit trail that is not an id, which would return the first page for ever', async () => {
    assert.match(
      await textOf('listAudit', { key: acme.company.keys.A, query: { len: '3', last: 'zzz' } }),
      /^last must be the id/,
    )
  })

  it('name the other field as the contract does', async () => {
    assert.match(await textOf('listEvidences', { query: { len: '3', next: 'WyIx' } }), /^next .* `last`$/)
    const query = { len: '3', owner: 'Ada', last: '01890a5d-ac96-774b-bcce-b302099a8057' }
    assert.match(await textOf('listEvidences', { query }), /^last .*`next`/)
    await acme.create('named')
    assert.match(await textOf('updateEvidence', { ...of('named'), json: { stolen: false } }), /^stolen .*`actionType`/)
  })

  it('say that a member is required', async () => {
    assert.match(await textOf('createFileToken', { json: {} }), /^fileId is required and must be a UUID$/)
    assert.equal(await textOf('createFileToken', { json: { fileId: 'no' } }), 'fileId must be a UUID')
  })

  it('say that an update without any value must give one', async () => {
    await acme.create('unchanged', { owner: 'Ada' })
    for (const json of [{}, { owner: '' }, { action: 'update' }])
      assert.match(await textOf('updateEvidence', { ...of('unchanged'), json }), /at least one of .*`actionType`/)
    assert.match(await textOf('updateEvidence', { ...of('unchanged'), json: { owner: 'Ada' } }), /equals the current/)
  })

  it('say where the API is if there is nothing at a path', async () => {
    const response = await acme.service.fetch('/evidences/acme/category')
    assert.equal(response.status, 404)
    const { error } = (await response.json()) as { readonly error: string }
    assert.equal(error, 'There is nothing at this path: the API is below /api/v1; see /docs')
  })

  it('say which texts a boolean of the query may have', async () => {
    await acme.create('disclosed')
    const text = await textOf('getEvidence', { ...of('disclosed'), query: { disclose: '2' } })
    assert.equal(text, 'disclose must be true, false, 1 or 0')
  })

  it('say which integers a parameter of the query may have', async () => {
    await acme.create('counted')
    for (const last of ['abc', '-1', '1.5'])
      assert.equal(await textOf('getEvidence', { ...of('counted'), query: { last } }), LAST_TEXT)
    const text = await textOf('getEvidence', { ...of('counted'), query: { len: 'abc' } })
    assert.equal(text, 'len must be an integer of at least 1; values above 500 count as 500')
  })

  it('name the limit of a meta that is nested too deep', async () => {
    const meta = JSON.parse('{"a":'.repeat(33) + '1' + '}'.repeat(33))
    await acme.create('deep')
    const text = 'meta: JSON must not be nested deeper than 32 levels'
    assert.equal(await textOf('updateEvidence', { ...of('deep'), json: { meta } }), text)
    assert.equal(await textOf('updateEvidence', { ...of('deep'), form: formOf({ meta: JSON.stringify(meta) }) }), text)
  })

  it('name the place of a value that cannot be kept, in JSON and in a form', async () => {
    const evidences = '[{"externalId":"a","name":"n"},{"externalId":"b","name":"n","meta":{"t":{"u":[1,-0]}}}]'
    const category = { params: { CATEGORY_ID: 'c', SUBCATEGORY_ID: 's' } }
    for (const body of [{ json: `{"evidences":${evidences}}` }, { form: formOf({ evidences }) }])
      assert.match(await textOf('createEvidences', { ...category, ...body }), /^evidences\[1\]\.meta\.t\.u\[1\]: -0 /)
    for (const body of [{ json: '{"meta":{"a":{"b":1e999}}}' }, { form: formOf({ meta: '{"a":{"b":1e999}}' }) }])
      assert.match(await textOf('updateEvidence', { ...of('x'), ...body }), /^meta\.a\.b: A number is too large/)
  })

  it('list the known fields and files for one that is unknown', async () => {
    const known = / is not a known field; known are name, description, image$/
    assert.match(await textOf('createCategory', { json: { name: 'x', colour: 1 } }), known)
    assert.match(await textOf('createCategory', { form: formOf({ name: 'x', colour: 'red' }) }), known)
    const form = formOf({ name: 'x' }, [['picture', 'a.png', 'a']])
    assert.equal(await textOf('createCategory', { form }), '"picture" is not a known file field; known are image')
  })

  it('say that a text is in the place of a file, for every name of the field', async () => {
    const names = ['file', 'files.items', 'files[]', 'files[0]', 'files.items[12]']
    for (const name of names) {
      const form = formOf({ [name]: 'a text' })
      assert.equal(await textOf('updateEvidence', { ...of('x'), form }), `"${name}" must be a file, not a text`)
      const text = await textOf('updateEvidence', { ...of('x'), json: { [name]: 'a text' } })
      assert.equal(text, `${name} must be sent as multipart/form-data: JSON cannot hold its files`)
    }
  })

  it('say how files are sent, for titles without files', async () => {
    const text = 'files has titles, but no files: send the files as file parts with a filename'
    for (const titles of [{ files: 'photo.jpg' }, { files: '["a"]' }, { files: '[""]' }, { files: ' \n' }])
      assert.equal(await textOf('updateEvidence', { ...of('x'), form: formOf(titles) }), text)
    assert.match(
      await textOf('updateEvidence', { ...of('x'), json: { files: 'photo.jpg' } }),
      /^files must be sent as m/,
    )
  })

  it('name what of a form cannot be read', async () => {
    const textOfForm = async (body: string | Buffer, type = MULTIPART): Promise<string> => {
      const headers = { 'x-api-key': acme.company.keys.U, 'content-type': type }
      const path = '/api/v1/evidences/acme/category'
      const response = await acme.service.fetch(path, { method: 'POST', headers, body: body as string })
      const answer = (await response.json()) as { readonly error: string; readonly code: string }
      assert.deepEqual([response.status, answer.code], [400, 'MALFORMED_BODY'])
      return answer.error
    }
    const latin1 = (...[name, content]: Parameters<typeof part>): Buffer =>
      Buffer.from(part('name', 'x') + part(name, content) + END, 'latin1')
    assert.equal(await textOfForm(latin1('description', 'é')), 'The field "description" is not UTF-8')
    assert.equal(await textOfForm(latin1('é', 'x')), 'A name in the form is not UTF-8')
    assert.match(
      await textOfForm(part('name', 'x') + END, 'multipart/form-data'),
      / has no boundary: let the HTTP library /,
    )
    assert.match(await textOfForm(part('name', 'x')), /must .* end with the closing boundary/)
  })

  it('say where a body is not JSON, if the parser does', async () => {
    await acme.create('broken')
    const { body } = await acme.fails('updateEvidence', 400, 'MALFORMED_BODY', {
      ...of('broken'),
      json: '{\n  "owner": "Ada",\n  "name" 1\n}',
    })
    assert.equal(body.error, 'The body is not JSON (line 3, column 10)')
    const form = formOf({ meta: '{"a" 1}' })
    assert.equal(
      await textOf('updateEvidence', { ...of('broken'), form }),
      'meta: The text is not JSON (line 1, column 6)',
    )
  })
})
