import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { DownloadQuery, FILE_CONTENT, FileSelector, fileSelector, FileToken, TokenRequest } from '../contract/files.ts'
import { UpdatedEvidence, updatedEvidence } from '../contract/evidence-responses.ts'
import { file, json } from '../contract/reply.ts'
import { HttpError } from '../contract/errors.ts'

const FILE = '/evidences/{COMPANY_ID}/file'

/** Endpoints 14 and 15 of the contract, and the token. */
export const files: EndpointGroup = {
  tag: 'Files',
  description: 'Content of files',
  endpoints: [
    endpoint({
      id: 'downloadFile',
      method: 'GET',
      path: FILE,
      access: 'fileToken',
      queue: 'downloads',
      summary: 'Download a file',
      description:
        'Whole or one range. Every owner that the query names must own the file. `ETag` is the SHA-256 of ' +
        'the content. Always an attachment, and sandboxed, because files come from strangers.',
      query: DownloadQuery,
      ...FILE_CONTENT,
      errors: ['FILE_NOT_FOUND', 'RANGE_NOT_SATISFIABLE'],
      async handle({ registry, scope, query }) {
        const { mimeType, token, ...owners } = query
        // A request with a key may have a token as well, which then only names the file.
        const opener =
          token === undefined || scope.principal.kind === 'fileToken'
            ? scope.principal
            : await registry.files.authenticateToken({ companyId: scope.companyId, token })
        const fileId = query.fileId ?? (opener?.kind === 'fileToken' ? opener.fileId : undefined)
        if (fileId === undefined) throw new HttpError('VALIDATION_ERROR', 'fileId is required')
        const info = await registry.files.find(scope, fileSelector({ ...owners, fileId }))
        return file({ file: info, mimeType, read: (range) => registry.files.read(info, range && { range }) })
      },
    }),
    endpoint({
      id: 'deleteFile',
      method: 'DELETE',
      path: FILE,
      access: 'U',
      summary: 'Delete a file',
      description:
        'Appends a deletefile event and destroys the bytes; the history still verifies. Deleting a file of a ' +
        'category records no event. `If-Match` is the ETag of the file, or of the evidence or the category that ' +
        'owns it.',
      query: FileSelector,
      conditional: 'version or content',
      response: { schema: UpdatedEvidence },
      errors: ['FILE_NOT_FOUND'],
      async handle({ registry, scope, query, options }) {
        return json(updatedEvidence(await registry.files.delete(scope, fileSelector(query), options)))
      },
    }),
    endpoint({
      id: 'createFileToken',
      method: 'POST',
      path: `${FILE}/token`,
      access: 'R',
      summary: 'Create a token that opens one file for five minutes without a key',
      description: 'For links in pages and mails. Pages of other origins may embed the response.',
      body: { schema: TokenRequest, example: { fileId: '01890a5d-ac96-774b-bcce-b302099a8057' } },
      response: { status: 201, schema: FileToken },
      errors: ['FILE_NOT_FOUND'],
      async handle({ registry, scope, input, path }) {
        const token = await registry.files.createToken(scope, input.fileId)
        return json(token, { location: `${path.replace(/\/token$/, '')}?token=${token.token}` })
      },
    }),
  ],
}
