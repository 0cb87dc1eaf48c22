import { useState } from 'preact/hooks'
import type { FileEntry } from '../../client/index.ts'
import { FormDialog, type OnClose } from '../components/dialog.tsx'
import { FileField, Form, useForm } from '../components/form.tsx'
import { Failure, WhenLoaded } from '../components/notice.tsx'
import { UploadProgress, useUpload } from '../components/upload.tsx'
import { useLoad } from '../components/use-load.ts'
import { saveFile } from '../format.ts'
import { hasLevel, useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { canPreview, ChosenFile, FilePreview } from './file-preview.tsx'
import { forgetLeftList } from './use-evidences.ts'

interface EvidenceFilesProps {
  readonly externalId: string
  /** A file was attached or deleted, so there is a new event. */
  readonly onChange: () => void
}

/** The files of an evidence, of its category and of its subcategory. */
export function EvidenceFiles({ externalId, onChange }: EvidenceFilesProps) {
  const t = texts.evidence
  const session = useSession()
  const { client } = session
  const files = useLoad((signal) => client.listEvidenceFiles({ externalId }, { signal }), [client, externalId])
  const changed = (): void => {
    files.reload()
    forgetLeftList(client)
    onChange()
  }
  return (
    <section class="card">
      <h2>{t.files}</h2>
      <WhenLoaded of={files}>
        {({ dt, category, subcategory }) => (
          <>
            {dt.length + category.length + subcategory.length === 0 && <p class="muted">{t.noFiles}</p>}
            <ul class="plain">
              {dt.map((file) => (
                <FileItem key={file.overlayId} file={file} evidenceId={externalId} onDelete={changed} />
              ))}
              {category.map((file) => (
                <FileItem key={file.overlayId} file={file} origin={t.ofCategory} />
              ))}
              {subcategory.map((file) => (
                <FileItem key={file.overlayId} file={file} origin={t.ofSubcategory} />
              ))}
            </ul>
          </>
        )}
      </WhenLoaded>
      {hasLevel(session, 'U') && <AttachFiles externalId={externalId} onDone={changed} />}
    </section>
  )
}

interface FileItemProps {
  readonly file: FileEntry
  /** Whose file it is, if it is not the evidence's own. */
  readonly origin?: string
  readonly evidenceId?: string
  /** Without it, the file cannot be deleted here. */
  readonly onDelete?: () => void
}

/** A file with what can be done with it. */
function FileItem({ file, origin, evidenceId, onDelete }: FileItemProps) {
  const t = texts.evidence
  const session = useSession()
  const [isShown, setShown] = useState(false)
  const [isDeleting, setDeleting] = useState(false)
  const form = useForm({})
  const { overlayId: fileId, name, title, mimeType } = file
  const download = async (): Promise<void> =>
    saveFile(await (await session.client.downloadFile({ fileId })).blob(), name)
  const closeDialog = (hasChanged: boolean): void => {
    setDeleting(false)
    if (hasChanged) onDelete?.()
  }
  return (
    <li>
      <div class="row">
        <strong>{title}</strong>
        <span class="muted">
          {name} · {mimeType} {origin}
        </span>
        <button onClick={() => void form.run(download)} aria-label={`${t.download}: ${name}`}>
          {t.download}
        </button>
        {canPreview(mimeType) && (
          <button onClick={() => setShown(!isShown)} aria-expanded={isShown} aria-label={`${t.preview}: ${name}`}>
            {t.preview}
          </button>
        )}
        {onDelete && hasLevel(session, 'U') && (
          <button class="danger" onClick={() => setDeleting(true)} aria-label={`${texts.remove}: ${name}`}>
            {texts.remove}
          </button>
        )}
      </div>
      {form.error !== undefined && <Failure error={form.error} />}
      {isShown && <FilePreview fileId={fileId} mimeType={mimeType} name={name} />}
      {isDeleting && evidenceId !== undefined && (
        <DeleteDialog {...{ name, fileId, evidenceId }} onClose={closeDialog} />
      )}
    </li>
  )
}

interface DeleteDialogProps {
  readonly name: string
  readonly fileId: string
  readonly evidenceId: string
  readonly onClose: OnClose
}

/** Asks before bytes are destroyed for good. */
function DeleteDialog({ name, fileId, evidenceId, onClose }: DeleteDialogProps) {
  const { client } = useSession()
  return (
    <FormDialog
      title={texts.evidence.deleteTitle(name)}
      intro={texts.evidence.deleteIntro}
      form={useForm({})}
      action={() => client.deleteFile({ fileId, evidenceId })}
      submitText={texts.remove}
      onClose={onClose}
    />
  )
}

/** Shows the files that were chosen. Only "Attach" sends them, because an event cannot be taken back. */
function AttachFiles({ externalId, onDone }: { readonly externalId: string; readonly onDone: () => void }) {
  const t = texts.evidence
  const { client } = useSession()
  const { percent, upload } = useUpload()
  const form = useForm({})
  const [files, setFiles] = useState<readonly File[]>([])
  const attach = async (): Promise<void> => {
    await upload((options) => client.updateEvidence({ externalId, files }, options))
    setFiles([])
    onDone()
  }
  if (files.length === 0) return <FileField label={t.upload} isMultiple onChange={setFiles} problem={undefined} />
  return (
    <Form form={form} action={attach} submitText={t.attach} onCancel={() => setFiles([])}>
      <p>{t.attachIntro}</p>
      <ul class="plain" aria-label={t.chosen}>
        {files.map((file) => (
          <li key={file.name}>
            <ChosenFile file={file} />
          </li>
        ))}
      </ul>
      <UploadProgress percent={percent} />
    </Form>
  )
}
